"""The ``topiary`` command: all subcommands with their options; the other modules of this package carry them out."""

import argparse
import importlib
import sys

from topiary.app.cli import console
from topiary.app.cli.console import (
    MISTAKE,
    Parser,
    UserError,
    VersionAction,
    notify,
    read_name,
    read_seed_list,
    read_setting_values,
    read_share,
    read_size,
    read_weight,
    read_whole,
    threads,
)
from topiary.app.machine import LARGEST_UPLOAD
from topiary.app.names import AXES, INTERVAL, MOVING, UNIT, WEIGH, Choice

PORTS = 65535
MOST_WORDS = 30  # words of a topic that can be listed; a hierarchy stores no more


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status: 1 when a run failed, 2 for an error of the user, 130 after Ctrl-C."""
    console.prepare_output()
    try:
        return _run_command(sys.argv[1:] if argv is None else argv)
    except console.OutputClosed as error:
        console.silence_output()
        print(f"topiary: {error}", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:
        console.silence_output()
        return 0
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130


def _run_command(argv: list[str]) -> int:
    """Run the command of an argument list and return its exit status, importing only the modules it needs."""
    arguments = build_parser(argv[0] if argv else "").parse_args(argv)
    from topiary.app.jobs.run_rules import NewRunError
    from topiary.engine.settings import SettingError
    from topiary.store.errors import StoreError

    module, _, function = arguments.function.rpartition(".")
    try:
        return int(getattr(importlib.import_module(f"topiary.app.cli.{module}"), function)(arguments))
    except (UserError, NewRunError, SettingError, StoreError) as error:
        notify(f"topiary {arguments.command}: {' '.join(str(error).split())}")
        return MISTAKE
    except OSError as error:
        from topiary.app.machine import explain_full_disk

        if not (sentence := explain_full_disk(error)):
            raise
        notify(f"topiary {arguments.command}: {sentence}")
        return MISTAKE
    except MemoryError:
        advice = "needs more memory than this machine has free; give it less at a time, or close other programs"
        notify(f"topiary {arguments.command}: {advice}")
        return MISTAKE


def build_parser(command: str = "") -> Parser:
    """Return the parser with all subcommands, or only with the group of subcommands of which one is given."""
    parser = Parser(prog="topiary", description="Explore what a collection of documents is about, in the browser.")
    parser.add_argument("--version", action=VersionAction, nargs=0, help="print the version of Topiary and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    groups = (
        (_add_demo, "demo"),
        (_add_import, "inspect import"),
        (_add_append, "append"),
        (_add_corpora, "corpora"),
        (_add_columns, "columns"),
        (_add_train, "train"),
        (_add_fork, "fork"),
        (_add_edit, "edit"),
        (_add_results, "runs show topics quality tree compare seeds points"),
        (_add_figure, "figure"),
        (_add_files, "film report export refine"),
        (_add_notes, "notes names carry"),
        (_add_inference, "infer place classify interpolate"),
        (_add_control, "stop pause resume delete queue log gpu"),
        (_add_maintenance, "check backup prune"),
        (_add_serve, "serve"),
    )
    own = [add for add, names in groups if command in names.split()]
    for add in own or [add for add, _ in groups]:
        add(commands)
    return parser


def _add_command(
    commands: "argparse._SubParsersAction[Parser]", name: str, function: str, text: str, *, reads: bool = False
) -> Parser:
    """Add a subcommand with the options that all share, and ``--json`` if it ``reads``."""
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.set_defaults(function=function)
    parser.add_argument(
        "--store", metavar="URL", help="file or database URL of the store (default: TOPIARY_STORE, or your data folder)"
    )
    if reads:
        parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_demo(commands: "argparse._SubParsersAction[Parser]") -> None:
    demo = _add_command(
        commands, "demo", "stores.demo", "train on text found on this machine and watch it in the browser"
    )
    demo.add_argument(
        "--port", type=read_whole(0, PORTS), help="port of the app (default: 5006 or the next free one; 0 = any)"
    )
    demo.add_argument("--no-browser", action="store_true", help="do not open a browser")
    demo.add_argument("--quick", action="store_true", help="train the first run only, not the four of the gallery")
    _add_allowed_hosts(demo)


def _add_import(commands: "argparse._SubParsersAction[Parser]") -> None:
    from topiary.app.ingest import options  # names of languages, which most commands do without

    description = "say what an import would make of files, and store nothing"
    inspect = _add_command(commands, "inspect", "corpora.inspect", description, reads=True)
    description = "make a corpus of a file or folder, or of several files"
    importing = _add_command(commands, "import", "corpora.import_corpus", description, reads=True)
    _add_place(importing)
    for parser in (inspect, importing):
        path_help = (
            "file, folder or zip, or several files of one format; - reads standard input; the format is recognised"
        )
        parser.add_argument("path", metavar="PATH", nargs="+", help=path_help)
        _add_import_options(parser, tuple(options.HELP))


def _add_append(commands: "argparse._SubParsersAction[Parser]") -> None:
    from topiary.app.ingest import options

    parser = _add_command(commands, "append", "corpora.append", "append more documents to a corpus", reads=True)
    parser.add_argument("corpus", metavar="CORPUS", help="name or number of the corpus; its vocabulary stays")
    path_help = "file, folder or zip, or several files of one format; - reads standard input"
    parser.add_argument("path", metavar="PATH", nargs="+", help=path_help)
    _add_place(parser)
    _add_import_options(parser, options.APPENDED)


def _add_place(parser: Parser) -> None:
    """Add the option ``--on`` of commands that cut texts into words."""
    place_help = (
        "cut texts into words in other processes: local:2, or the address of a Dask scheduler; the corpus is the same"
    )
    parser.add_argument("--on", default="", metavar="PLACE", help=place_help)


def _add_import_options(parser: Parser, names: tuple[str, ...]) -> None:
    """Add options of an import, by name; those that are not typed are missing from the parsed arguments."""
    from topiary.app.ingest import options

    for option in names:
        flag, text = f"--{option.replace('_', '-')}", options.HELP[option]
        kind = read_name if option == "name" else options.KINDS.get(option, str)
        if kind is bool:
            parser.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=text)
        else:
            metavar = option.split("_")[-1].upper()
            action = "append" if option in options.REPEATABLE_OPTIONS else "store"
            parser.add_argument(flag, action=action, type=kind, default=argparse.SUPPRESS, metavar=metavar, help=text)


def _add_corpora(commands: "argparse._SubParsersAction[Parser]") -> None:
    description = "list the corpora of the store, show one and how it was read, or delete one"
    parser = _add_command(commands, "corpora", "corpora.corpora", description, reads=True)
    action_help = "list (default), show or delete; or the name or number of a corpus to show"
    parser.add_argument("action", nargs="?", metavar="ACTION", default="list", help=action_help)
    parser.add_argument("corpus", nargs="?", metavar="CORPUS", help="name or number of the corpus to show or delete")


def _add_columns(commands: "argparse._SubParsersAction[Parser]") -> None:
    description = "list the columns of a corpus with their kinds, or change a kind"
    parser = _add_command(commands, "columns", "corpora.columns", description, reads=True)
    parser.add_argument("corpus", metavar="CORPUS", help="name or number of a corpus")
    kind_help = "make a column a date, number, category, text or id, without importing again; may be repeated"
    parser.add_argument("--kind", action="append", default=[], metavar="NAME=KIND", dest="kinds", help=kind_help)


def _add_train(commands: "argparse._SubParsersAction[Parser]") -> None:
    parser = _add_command(
        commands, "train", "runs.train", "train a model in the background; prints the number of the run"
    )
    parser.add_argument("corpus", metavar="CORPUS", help="name or number of a corpus")
    parser.add_argument("--model", default="dlda", help="model (default dlda)")
    parser.add_argument("--inference", help="sampler, for example tlasgr or gibbs")
    layers_help = "topics of every layer from the words up, as in 128-64-32 (default: by the size of the corpus)"
    parser.add_argument("--layers", metavar="WIDTHS", help=layers_help)
    parser.add_argument(
        "--minibatches",
        type=read_whole(1),
        help="steps (default: 12 passes over the corpus, 300 sweeps for gibbs, 3500 for datm)",
    )
    parser.add_argument("--seed", type=int, help="seed of everything random (default 1)")
    seeds_help = "a run for each of these seeds, such as 1-5 or 1,3,7, all together a group"
    parser.add_argument("--seeds", type=read_seed_list, metavar="SEEDS", help=seeds_help)
    grid_help = (
        "a run for each value of a setting, such as eta=0.01,0.05; repeated, for each combination, times the seeds"
    )
    parser.add_argument(
        "--grid", type=read_setting_values, action="append", default=[], metavar="NAME=VALUES", help=grid_help
    )
    guide_help = "a YAML file with topics (name, words, parent) and words to ban, which the run begins with"
    parser.add_argument("--topics", metavar="FILE", help=guide_help)
    _add_training(parser, "the run")


def _add_fork(commands: "argparse._SubParsersAction[Parser]") -> None:
    parser = _add_command(commands, "fork", "runs.fork", "go on from a snapshot of a run, as a run of its own")
    _add_run(parser)
    parser.add_argument(
        "--snapshot", default="latest", metavar="MINIBATCH", help="the snapshot at or before this one (default: latest)"
    )
    parser.add_argument("--model", help="model (default: that of the run)")
    parser.add_argument("--minibatches", type=read_whole(1), help="steps of the fork (default: as many as the run had)")
    parser.add_argument("--seed", type=int, help="seed of everything random (default: that of the run)")
    _add_training(parser, "the fork")


def _add_edit(commands: "argparse._SubParsersAction[Parser]") -> None:
    edit_help = "tell the topics of a run what you know while it trains, or list its journal of edits"
    edit = _add_command(commands, "edit", "edits.edit", edit_help, reads=True)
    _add_run(edit)
    action_help = (
        "seed, keep, out, ban, pin, unpin, merge, split, remove or place; or apply, to have edits that wait made; "
        "or suggest, for edits that may be worth while; "
        "without it, the journal is listed"
    )
    edit.add_argument("action", nargs="?", metavar="EDIT", help=action_help)
    terms_help = "topics, such as L1:3, and words: seed WORDS, keep TOPIC WORDS, merge TOPIC TOPIC, place TOPIC PARENT"
    edit.add_argument("terms", nargs="*", metavar="TERM", help=terms_help)
    strength_help = "how much words of seed and keep weigh from then on (default: medium)"
    preview_help = "print what the edit would do to the topics that the run has now, and add nothing"
    edit.add_argument("--preview", action="store_true", help=preview_help)
    edit.add_argument("--strength", choices=("weak", "medium", "strong"), default="medium", help=strength_help)
    edit.add_argument("--name", type=read_name, default="", help="of seed and split: a name for the new topic")
    train_help = "of apply: steps that a finished run is trained on (default 50)"
    edit.add_argument("--train", type=read_whole(1), default=50, metavar="STEPS", help=train_help)
    undo_help = "go on from before this edit, as a run of its own; one that waits is withdrawn"
    edit.add_argument("--undo", type=read_whole(1), metavar="NUMBER", help=undo_help)
    edit.add_argument("--list", action="store_true", help="list the edits of the run and what each did")


def _add_training(parser: Parser, created: str) -> None:
    """Add the options that a new run and a fork share."""
    preset_help = "settings that go together: paper, as in the paper of the model; what is given explicitly wins"
    parser.add_argument("--preset", default="", metavar="NAME", help=preset_help)
    setting_help = "a setting of the model; may be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help=setting_help)
    until_help = (
        "good: end when the point perplexity no longer falls; settled: when the tree no longer changes either; "
        "--minibatches is then the most"
    )
    parser.add_argument("--until", choices=("good", "settled"), default="", help=until_help)
    keep_help = "snapshots that stay as the run grows, half of them its latest (default: some hundred, ever sparser)"
    parser.add_argument("--keep", type=read_whole(2), metavar="N", help=keep_help)
    parser.add_argument(
        "--threads", type=threads, help="threads of the kernels (default: up to 2); no effect on results"
    )
    place_help = (
        "sweep documents in other processes: local:2, or the address of a Dask scheduler; several runs share them, "
        "each trained whole by one; no effect on results; or gpu: by a graphics processor, in single precision; or "
        "gpu+local:2 and the like: by a graphics processor of every process"
    )
    parser.add_argument("--on", default="", metavar="PLACE", help=place_help)
    parser.add_argument("--name", type=read_name, default="", help=f"a name for {created}")
    parser.add_argument("--wait", action="store_true", help="stay until it ends and show its progress")


def _add_results(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the commands that read results, such as ``runs``, ``show``, ``topics``, ``film`` and ``compare``."""
    _add_command(commands, "runs", "show.list_runs", "list the runs of the store", reads=True)
    show = _add_command(commands, "show", "show.show", "show one run", reads=True)
    topics = _add_command(commands, "topics", "show.topics", "list the topics of a run, most popular first", reads=True)
    topics.add_argument("--layer", type=int, help="only this layer (1 is next to the words)")
    topics.add_argument(
        "--words", type=read_whole(1, MOST_WORDS), default=12, help="words of a topic (default 12, at most 30)"
    )
    topics.add_argument("--all", action="store_true", help="topics of under 0.1%% of the tokens too")
    quality_help = (
        "how coherent every topic is (NPMI of its ten first words in the training documents), and whether it is live"
    )
    topics.add_argument("--quality", action="store_true", help=quality_help)
    quality = _add_command(commands, "quality", "quality.quality", "say how good the topics of a run are", reads=True)
    quality.add_argument("--layer", type=int, help="only this layer (1 is next to the words)")
    quality.add_argument(
        "--most", type=read_whole(0), default=3, help="best and worst topics listed a layer (default 3)"
    )
    quality.add_argument(
        "--no-labels", action="store_true", help="leave out how well topics tell the labels, which takes longest"
    )
    tree = _add_command(commands, "tree", "show.tree", "write the tree of a run, or that under some topics")
    tree.add_argument("--light", action="store_true", help="draw topics of under 0.1%% of the tokens too")
    tree.add_argument("--layer", type=read_whole(1), help="layer of the roots (default: the top)")
    _add_topics(tree, "only below this topic, such as L3:1; may be repeated")
    tree.add_argument("--up", action="store_true", help="follow parents instead of children")
    tree.add_argument("--output", required=True, metavar="FILE", help="tree.svg, tree.graphml or tree.json")
    compare = _add_command(commands, "compare", "show.compare", "say how the topics of two runs differ", reads=True)
    compare.add_argument("run_a", metavar="RUN", help="number of the run that is compared with (A), or last")
    compare.add_argument("run_b", metavar="RUN", help="number of the run that is looked at (B), or last")
    compare.add_argument(
        "--output", metavar="FILE", help="write compare.svg (both trees side by side) or compare.json instead"
    )
    compare.add_argument("--layer", type=read_whole(1), help="of compare.svg: layer of the root (default: the top)")
    _add_topics(compare, "of compare.svg: a topic of B at the root, such as L3:1; may be repeated")
    compare.add_argument("--most", type=read_whole(0), help="changed topics to list (default 12)")
    for side in ("a", "b"):
        minibatch_help = f"the snapshot of {side.upper()} at or before this one (default: the latest)"
        compare.add_argument(f"--minibatch-{side}", type=read_whole(0), help=minibatch_help)
    seeds_help = "say which topics and edges of a run come back in runs that differ in the seed alone"
    seeds = _add_command(commands, "seeds", "show.seeds", seeds_help, reads=True)
    seeds.add_argument("--layer", type=read_whole(1), help="only this layer (1 is next to the words)")
    seeds.add_argument("--most", type=read_whole(0), default=10, help="topics listed a layer (default 10)")
    points = _add_command(commands, "points", "show.points", "print every point of a run as CSV")
    for parser in (show, topics, quality, tree, seeds, points):
        _add_run(parser)
    threshold_help = (
        "edges above threshold / K of the layer below (default: 5, or less where that leaves no tree to read)"
    )
    for parser in (tree, compare, seeds):
        parser.add_argument("--threshold", type=read_weight, help=threshold_help)
    for parser, picture in ((tree, "tree.svg"), (compare, "compare.svg")):
        class_help = f"of {picture}: tint topics by how much they speak for this class (orange) or against it (blue)"
        parser.add_argument("--class", dest="label", default="", metavar="NAME", help=class_help)
    relevance_help = "lambda of relevance, 0 to 1, by which words are chosen; 1 is the most probable (default: 0.1)"
    _add_minibatch(seeds)
    for parser in (topics, quality, tree):
        _add_minibatch(parser)
        parser.add_argument("--relevance", type=read_share, metavar="LAMBDA", help=relevance_help)


_COLUMN_HELP = "of time and groups (default: the first that fits)"
_WHERE_HELP = "only documents with this value, such as source=BBC, date=2004..2005 or L2:17=20%%..; may be repeated"


def _add_choice(parser: Parser, choice: Choice, default: str | None = None) -> None:
    """Add the option of a choice that pages offer too."""
    kind = int if choice.offered[0].isdecimal() else str
    parser.add_argument(
        choice.option, type=kind, choices=tuple(map(kind, choice.offered)), default=default, help=choice.help
    )


def _add_files(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the commands that write whole results to a file: ``film``, ``report``, ``export`` and ``refine``."""
    film = _add_command(commands, "film", "show.film", "write the film of a run: its tree at every snapshot kept")
    _add_run(film)
    film.add_argument("--output", required=True, metavar="FILE", help="film.html, which plays in any browser")
    report = _add_command(commands, "report", "show.report", "write a report on a run, for everyone to read")
    _add_run(report)
    report.add_argument("--output", required=True, metavar="FILE", help="report.html, one file that needs no other")
    _add_topics(report, "only this topic, such as L3:1; may be repeated")
    below_help = "only this topic and those that the tree has below it; may be repeated"
    report.add_argument("--below", action="append", default=[], metavar="ID", help=below_help)
    report.add_argument("--marked", action="store_true", help="only topics with a name, a note or a tag")
    report.add_argument("--no-quotes", dest="quotes", action="store_false", help="leave out passages of documents")
    column_help = "show topics over time or by group by this column (default: the first that fit); may be repeated"
    report.add_argument("--column", action="append", default=[], dest="columns", metavar="NAME", help=column_help)
    export = _add_command(
        commands, "export", "export.export", "write a table of a run for Excel, R or pandas, or its topics for pyLDAvis"
    )
    _add_run(export)
    table_help = (
        "topics (words, shares, certainty, relatives), documents (with their columns and the shares of the topics of "
        "a layer), theta (documents with the activations of all topics of a layer, none left out), time, "
        "groups (topics by period or group, with intervals), contexts (every place where --query finds something), or "
        "pyldavis (a layer for pyLDAvis)"
    )
    export.add_argument("table", metavar="WHAT", help=table_help)
    export.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="table.csv, table.xlsx or table.parquet; pyldavis.json, or pyldavis.html, a page that works offline",
    )
    export.add_argument("--layer", type=read_whole(1), help="only this layer (1 is next to the words)")
    export.add_argument("--query", default="", help='of contexts, documents: words, "a phrase" or /a pattern/')
    export.add_argument("--column", default="", metavar="NAME", help=_COLUMN_HELP)
    _add_choice(export, UNIT)
    _add_choice(export, WEIGH, default="tokens")
    _add_choice(export, INTERVAL, default="documents")
    refine = _add_command(commands, "refine", "export.refine", "make a corpus of the documents of a topic")
    _add_run(refine)
    refine.add_argument("--topic", default="", metavar="ID", help="documents with this topic, such as L2:17")
    refine.add_argument("--share", type=read_share, default=0.2, help="least share of it in a document (default 0.2)")
    refine.add_argument("--query", default="", help="documents that this search finds")
    refine.add_argument("--name", default="", help="name of the new corpus (default: of the corpus and the topic)")
    for parser in (export, refine):
        parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE", help=_WHERE_HELP)
    for parser in (report, export, refine):
        _add_minibatch(parser)


def _add_figure(commands: "argparse._SubParsersAction[Parser]") -> None:
    from topiary.app.plots.request import KINDS

    figure = _add_command(commands, "figure", "show.figure", "draw a figure for a paper")
    _add_run(figure)
    figure.add_argument("kind", metavar="KIND", help=", ".join(KINDS))
    figure.add_argument("--output", required=True, metavar="FILE", help="figure.pdf, figure.svg or figure.png")
    with_help = "a run to be drawn too (perplexity), or compared with RUN (comparison); may be repeated"
    figure.add_argument("--with", action="append", default=[], dest="others", metavar="RUN", help=with_help)
    figure.add_argument("--layer", type=read_whole(1), help="layer of topics (default: the top)")
    _add_topics(figure, "only this topic, such as L3:1; may be repeated")
    figure.add_argument("--most", type=read_whole(1), help="topics drawn at most; of a tree, in each layer (default 8)")
    figure.add_argument("--threshold", type=read_weight, help="of a tree: edges above threshold / K of the layer below")
    width_help = "column (3.3 inches, default), page (6.8 inches) or a number of inches"
    figure.add_argument("--width", default="column", metavar="WIDTH", help=width_help)
    figure.add_argument("--x", choices=AXES, help="x-axis of curves (default: documents; of steps minibatches)")
    figure.add_argument("--column", metavar="NAME", help=_COLUMN_HELP)
    for choice in (UNIT, MOVING, WEIGH, INTERVAL):
        _add_choice(figure, choice)
    where_help = f"of time and groups: {_WHERE_HELP}"
    figure.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE", help=where_help)
    _add_minibatch(figure)


def _add_notes(commands: "argparse._SubParsersAction[Parser]") -> None:
    notes_help = "list the notes and tags on the topics of a run and on its documents, or add and delete them"
    notes = _add_command(commands, "notes", "notes.notes", notes_help, reads=True)
    _add_run(notes)
    act = notes.add_mutually_exclusive_group()
    act.add_argument("--add", metavar="TEXT", help="add a note to the topic or document")
    act.add_argument("--delete", type=read_whole(1), metavar="NUMBER", help="delete the note or tag with this number")
    act.add_argument("--change", nargs=2, metavar=("NUMBER", "TEXT"), help="replace the text of a note")
    act.add_argument("--tags", action="store_true", help="count the tags on topics and documents of the corpus")
    subject = notes.add_mutually_exclusive_group()
    subject.add_argument("--topic", metavar="ID", help="a topic, such as L3:1")
    subject.add_argument("--document", type=read_whole(0), metavar="NUMBER", help="a document of the corpus")
    notes.add_argument("--tag", action="store_true", help="of --add: the text is a tag")
    notes.add_argument("--author", metavar="NAME", help="of --add: who writes it (default: the user of this machine)")
    names_help = "propose names of topics, by phrases of their documents or by a language model, or name one"
    names = _add_command(commands, "names", "notes.names", names_help, reads=True)
    _add_run(names)
    names.add_argument("--layer", type=read_whole(1), help="only this layer (1 is next to the words)")
    _add_topics(names, "only this topic, such as L3:1; may be repeated")
    act = names.add_mutually_exclusive_group()
    act.add_argument("--give", metavar="NAME", help='name the topic of --topic so; "" takes its name away')
    url_help = "ask a server of language models, such as http://localhost:11434/v1; prints what would be sent"
    act.add_argument("--url", default="", help=url_help)
    names.add_argument("--model", default="", help="of --url: the model that is asked, such as llama3.2")
    names.add_argument("--passages", action="store_true", help="of --url: send passages of three documents too")
    names.add_argument("--send", action="store_true", help="of --url: send what is printed without it")
    carry_help = "copy names, notes and tags of the topics of a run to the same topics of another one"
    carry = _add_command(commands, "carry", "notes.carry", carry_help, reads=True)
    carry.add_argument("run_from", metavar="RUN_FROM", help="number of the run that has them, or last")
    carry.add_argument("run_to", metavar="RUN_TO", help="number of the run on the same corpus that gets them, or last")


def _add_inference(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the commands ``infer``, ``place``, ``classify`` and ``interpolate``."""
    from topiary.app.ingest import options

    infer = _add_command(commands, "infer", "infer.infer", "place new documents in the topics of a run", reads=True)
    _add_run(infer)
    infer.add_argument(
        "file", metavar="FILE", help="a text, or a table, folder or zip of documents; - reads standard input"
    )
    infer.add_argument("--paths", type=read_whole(1), default=5, help="root-to-leaf paths of a document (default 5)")
    infer.add_argument(
        "--nearest", type=read_whole(0), default=5, help="nearest documents of the corpus (default 5; 0 = none)"
    )
    for name in options.NEW_DOCUMENT_OPTIONS:
        metavar, kind = name.split("_")[-1].upper(), options.KINDS.get(name, str)
        action = "append" if name in options.REPEATABLE_OPTIONS else "store"
        flag = f"--{name.replace('_', '-')}"
        infer.add_argument(flag, action=action, type=kind, metavar=metavar, help=options.HELP[name])
    place_help = "place the documents of the corpus in the topics of a run, if its worker has not placed them all"
    place = _add_command(commands, "place", "infer.place", place_help)
    _add_run(place)
    classify = _add_command(
        commands, "classify", "quality.classify", "say how well a run predicts the classes", reads=True
    )
    _add_run(classify)
    _add_minibatch(classify)
    interpolate = _add_command(
        commands, "interpolate", "infer.interpolate", "show what lies between two documents", reads=True
    )
    _add_run(interpolate)
    interpolate.add_argument("one", metavar="DOC", help="number of a document of the corpus, or words in it")
    interpolate.add_argument("other", metavar="DOC", help="the other one")
    interpolate.add_argument("--steps", type=int, default=9, help="points of the line, both ends included (default 9)")
    layer_help = "layer whose activations are mixed (default: the highest that tells the two apart)"
    interpolate.add_argument("--layer", type=int, help=layer_help)
    interpolate.add_argument("--words", type=read_whole(1), default=10, help="words of a step (default 10)")
    for parser in (infer, place, interpolate):
        _add_minibatch(parser)


def _add_control(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the commands that control runs: ``stop``, ``pause``, ``resume``, ``delete``, ``queue`` and ``log``."""
    for name, text in (
        ("stop", "stop a run after its mini-batch"),
        ("pause", "pause a run after its mini-batch"),
        ("resume", "go on with a run that was paused, stopped, killed or failed"),
        ("delete", "delete a run with all that belongs to it"),
    ):
        parser = _add_command(commands, name, f"runs.{name}", text)
        _add_run(parser)
        if name == "resume":
            parser.add_argument("--wait", action="store_true", help="stay until it ends and show its progress")
            place_help = "sweep documents by the processor (here) or a graphics processor (gpu) from now on"
            parser.add_argument("--on", default="", choices=("here", "gpu"), help=place_help)
    queue = _add_command(
        commands, "queue", "runs.queue", "list the queued runs, or put one elsewhere among them", reads=True
    )
    queue.add_argument("run", nargs="?", metavar="RUN", help="a queued run that is to start at another time")
    place = queue.add_mutually_exclusive_group()
    place.add_argument("--first", action="store_true", help="before all others")
    place.add_argument("--last", action="store_true", help="after all others")
    place.add_argument("--before", metavar="RUN", help="before this one")
    log = _add_command(
        commands, "log", "runs.log", "show what happened to a run, and the end of its worker's log", reads=True
    )
    _add_run(log)
    log.add_argument("--lines", type=read_whole(1, 100_000), default=20, help="lines of each (default 20)")
    gpu_help = "list the graphics processors of this machine, and what fits on them"
    _add_command(commands, "gpu", "runs.gpu", gpu_help, reads=True)


def _add_maintenance(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the commands ``check``, ``backup`` and ``prune``."""
    check_help = "read everything in the store, verify every checksum, and say what is damaged"
    _add_command(commands, "check", "stores.check", check_help, reads=True)
    backup = _add_command(commands, "backup", "stores.backup", "copy the store into a file while it is in use")
    backup.add_argument("file", metavar="FILE", help="a new file, itself a store: SQLite, also of a PostgreSQL store")
    prune = _add_command(commands, "prune", "stores.prune", "remove what the store can do without, and shrink it")
    prune.add_argument("run", nargs="*", metavar="RUN", help="thin the snapshots of these runs only (default: of all)")
    keep_help = "snapshots that stay of each run that has ended: the first, the last, and those evenly between"
    prune.add_argument("--keep", type=read_whole(1), metavar="N", help=keep_help)
    budget_help = "bytes that the snapshots of each run that has ended may take, such as 50MB"
    prune.add_argument("--budget", type=read_size, metavar="SIZE", help=budget_help)
    prune.add_argument("--damaged", action="store_true", help="read all snapshots, and remove those that are damaged")
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")


def _add_serve(commands: "argparse._SubParsersAction[Parser]") -> None:
    parser = _add_command(commands, "serve", "stores.serve", "show the store in the browser")
    parser.add_argument(
        "--port", type=read_whole(0, PORTS), help="port of the app (default: 5006 or the next free one; 0 = any)"
    )
    parser.add_argument(
        "--address", "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    for flag, readers in (
        ("--password-file", "analysts, who may change everything; without it TOPIARY_PASSWORD is asked"),
        ("--viewer-password-file", "viewers, who look at everything and change nothing"),
    ):
        parser.add_argument(flag, metavar="FILE", help=f"a file whose first line is the password of {readers}")
    insecure_help = (
        "listen beyond this machine without a password: anyone who reaches the address can read, change and delete "
        "everything in the store and fill the disk"
    )
    parser.add_argument("--insecure", action="store_true", help=insecure_help)
    parser.add_argument(
        "--largest-upload",
        type=read_whole(1, 1 << 30),
        default=LARGEST_UPLOAD >> 20,
        metavar="MB",
        help=f"megabytes that browsers may send for one corpus (default {LARGEST_UPLOAD >> 20})",
    )
    parser.add_argument("--open", action="store_true", help="open a browser")
    _add_allowed_hosts(parser)
    prefix_help = "the path that browsers find the server below, such as /topiary, where a proxy passes it on"
    parser.add_argument("--prefix", default="", metavar="PATH", help=prefix_help)
    names_help = (
        "a server of language models that analysts may ask for names of topics, such as http://localhost:11434/v1"
    )
    parser.add_argument("--names-url", default="", metavar="URL", help=names_help)
    parser.add_argument("--names-model", default="", metavar="MODEL", help="of --names-url: the model that is asked")
    proxy_help = (
        "address or network of a proxy in front of the server, such as 127.0.0.1: what it says of the browser's "
        "address, of https and of the host is believed (X-Forwarded-For, -Proto, -Host); may be repeated"
    )
    parser.add_argument("--behind-proxy", action="append", default=[], metavar="ADDRESS", help=proxy_help)


def _add_allowed_hosts(parser: Parser) -> None:
    host_help = "a name that browsers may reach the server by, besides its address and localhost; may be repeated"
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=host_help)


def _add_topics(parser: Parser, text: str) -> None:
    parser.add_argument("--topic", "--node", action="append", default=[], dest="topics", metavar="ID", help=text)


def _add_minibatch(parser: Parser) -> None:
    parser.add_argument(
        "--minibatch", type=read_whole(0), help="the snapshot at or before this one (default: the latest)"
    )


def _add_run(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="number of the run, or last")


if __name__ == "__main__":
    sys.exit(main())
