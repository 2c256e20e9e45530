"""The form of a new run: drawn from the model's settings, checked during typing, one sentence per error."""

from functools import partial
from typing import Any, NamedTuple

from app.jobs.forks import (
    LABEL_MODEL,
    ForkOrigin,
    find_origin,
    find_wrong_layers,
    format_default,
    inherit_settings,
    learns_widths,
)
from app.jobs.new_run import read_seeds
from app.jobs.run_rules import (
    LARGEST_SEED,
    LINK_OF,
    PRESET_LABELS,
    RECOMMENDED,
    NewRunError,
    RunRequest,
    choose_length,
    describe_widths,
    find_preset,
    list_objections,
    list_presets,
    propose_layers,
)
from app.live.feed import TROUBLE
from app.pages import form_fields
from app.pages.components import Board, Message
from app.pages.session import ANOTHER_RUN, Context
from app.views.runs.new_run_form import (
    BACK,
    FormField,
    describe_bounds,
    draw_error,
    draw_new_run_form,
    draw_sheet,
    name_labels,
)
from engine import models, settings
from engine.settings import ALWAYS, Setting, SettingError
from store import corpora, corpus_rows, runs
from store.database import Database
from store.errors import DamagedRow, NotFound
from store.run_rows import RunRow

OWN = {"minibatches": "Mini-batches", "seed": "Seeds"}  # fields that every model has
MOST_STEPS = 10**9
MOST_TYPED = 300  # characters of the seeds that are read


class ForkRequest(NamedTuple):
    """A run to continue, its snapshot (0 = the latest), and whether it is to learn labels."""

    run: int
    snapshot: int
    labels: bool


class _FormOffer(NamedTuple):
    """The choices of the form, read once per session."""

    corpora: list[corpus_rows.CorpusRow]
    titles: dict[str, str]
    settings: dict[str, tuple[Setting, ...]]
    begin: ForkOrigin | None


class NewRunForm:
    """The form of one session.

    Parameters
    ----------
    context : Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.board = Board(_WAIT, self._on_board)
        self._known: _FormOffer | None = None
        self._typed: dict[str, str] = {}
        self._sending = False
        self._requested: ForkRequest | None = None

    def refresh(self, request: ForkRequest | None = None) -> None:
        """Read the corpora again and draw: the form of a new run, or of one that continues another."""
        self._sending = False
        if request != self._requested:
            self._requested, self._known, self._typed = request, None, {}
            self.board.html = _WAIT
        self._context.later(partial(self._tried, request), partial(self._take, request))

    def _tried(self, request: ForkRequest | None) -> _FormOffer | str:
        """Return what the form offers, or the sentence to show in its place."""
        try:
            return self._read(request)
        except TROUBLE as error:
            if request is not None and isinstance(error, NotFound):
                return _explain_no_origin(self._context.db, request)
            said = str(error).splitlines()[0]
            if isinstance(error, DamagedRow):
                return f"{said[0].upper()}{said[1:]}."
            return f"The store cannot be read at the moment: {said}"

    def _read(self, request: ForkRequest | None) -> _FormOffer:
        begin = None
        if request is not None:
            begin = find_origin(self._context.db, request.run, snapshot=request.snapshot or None)
        loaded = {name: models.load(name) for name in models.names()}
        return _FormOffer(
            [row for row in corpora.list_corpora(self._context.db) if not row.unusable],
            {name: module.TITLE for name, module in loaded.items()},
            {name: settings.describe(module.Config) for name, module in loaded.items()},
            begin,
        )

    def _take(self, request: ForkRequest | None, known: _FormOffer | str) -> None:
        if request != self._requested:
            return
        if isinstance(known, str):
            self._known, self.board.html = (
                None,
                _draw_no_form(f"Continue run {request.run}" if request else "New run", known),
            )
            return
        self._known = known
        if self._typed.get("corpus") not in {str(row.number) for row in known.corpora}:
            self._typed.pop("corpus", None)  # deleted since it was chosen
        self._draw()

    def _on_board(self, message: Message) -> None:
        match message:
            case {"do": "cancel"}:
                self._context.view.tab = ""
            case {"do": "typed", "form": dict(texts)}:
                self._remember(texts)
                self._draw()
            case {"do": "start", "form": dict(texts)}:
                self._remember(texts)
                self._start()

    def _remember(self, texts: dict[object, object]) -> None:
        """Keep what was changed; the rest follows the model, the corpus and the preset chosen now."""
        untouched = self._untouched()
        typed = {str(name): str(text) for name, text in texts.items()}
        self._typed = {name: text for name, text in typed.items() if text != untouched.get(name)}

    # ------------------------------------------------------------ checking

    def _start(self) -> None:
        """Start the run, once for each opening of the form, however often the button is pressed."""
        if self._sending:
            return
        _, request = self._check()
        self._sending = request is not None
        self._draw()
        if request is not None:
            self._context.later(partial(self._send, request), self._started)

    def _send(self, request: RunRequest) -> list[RunRow] | str:
        try:
            return self._context.actions.create(request)
        except (NewRunError, *TROUBLE) as error:
            return str(error)

    def _started(self, made: list[RunRow] | str) -> None:
        if isinstance(made, str):
            self._sending = False
            self._draw()
            self._context.notify(name_labels(made, self._labels()), "error")
            return
        self._typed = {}
        first, last = made[0].number, made[-1].number
        alone = len(made) == 1
        said = f"Run {first} is on its way." if alone else f"Group {first}: runs {first} to {last} are on their way."
        self._context.notify(said, "success")
        self._context.view.param.update(page="watch" if alone else "runs", run=first, tab="", **ANOTHER_RUN)

    def _check(self) -> tuple[dict[str, str], RunRequest | None]:
        """Return errors by field ("" = about several), and the request when there is none."""
        known = self._known
        if known is None or not known.corpora:
            return {"": "There is no corpus yet: go back and add documents first"}, None
        model = self._model(known)
        config = models.load(model).Config
        texts = {name: text for name, text in self._values(model).items() if text.strip()}
        errors = {
            name: said for name, text in texts.items() if (said := _check_settings(config, {name: text}, alone=True))
        }
        errors |= self._emptied(model)
        if not errors and (said := _check_settings(config, texts, alone=False)):
            name = said.partition(" ")[0]
            errors[name if name in texts else ""] = said
        errors |= self._check_own()
        if not errors and known.begin and (said := find_wrong_layers(known.begin, settings.parse(config, texts))):
            errors["layers"] = said
        request = None if errors else self._order(known, model, texts)
        if request is not None:
            errors = list_objections(next(row for row in known.corpora if row.number == request.corpus), request)
        labels = self._labels()
        return {name: name_labels(said, labels) for name, said in errors.items()}, None if errors else request

    def _order(self, known: _FormOffer, model: str, texts: dict[str, str]) -> RunRequest:
        """Return the request of a form whose fields can all be read."""
        seeds = read_seeds(self._own("seed"))
        return RunRequest(
            corpus=int(self._corpus(known)),
            model=model,
            texts=texts,
            minibatches=int(self._own("minibatches")),
            averaged=self._own("averaged") == "true",
            seed=seeds[0],
            seeds=seeds if len(seeds) > 1 else (),
            name=self._own("name")[:200],
            fork=known.begin,
            on=form_fields.read_place(self._own(form_fields.PLACE)),
        )

    def _emptied(self, model: str) -> dict[str, str]:
        """Return errors about fields that were cleared although they have a default."""
        usual = self._usual(model) | self._fresh()
        stands = self._values(model) | {name: text for name, text in self._typed.items() if name in OWN}
        blank = (name for name, text in stands.items() if not text.strip())
        return {name: f"{name} must not be empty; usually {usual[name]}" for name in blank if usual[name]}

    def _check_own(self) -> dict[str, str]:
        errors = {}
        text = self._own("minibatches")[:30]
        if not (text.isascii() and text.isdecimal() and int(text) >= 1):
            errors["minibatches"] = f"minibatches must be a whole number of at least 1; got {text!r}"
        elif int(text) > MOST_STEPS:
            errors["minibatches"] = f"minibatches is too large: {text}"
        try:
            largest = max(read_seeds(self._own("seed")[:MOST_TYPED]))
            if largest > LARGEST_SEED:
                errors["seed"] = f"seed must be at most {LARGEST_SEED}; got {largest}"
        except ValueError as error:
            errors["seed"] = f"seed {error}"
        if said := form_fields.check_place(self._own(form_fields.PLACE)[:300], self._context.db.url):
            errors[form_fields.PLACE] = said
        return errors

    def _labels(self) -> dict[str, str]:
        """Return the labels of the form's fields."""
        about = self._known.settings[self._model(self._known)] if self._known else ()
        return OWN | {each.name: each.label for each in about}

    def _own(self, name: str) -> str:
        typed = self._typed.get(name, "").strip()
        return typed if typed or name == "corpus" else self._fresh().get(name, "")

    def _fresh(self) -> dict[str, str]:
        """Return the defaults of the fields that every model has."""
        shared = {
            "seed": self._seed(),
            "averaged": "false",
            "name": "",
            "preset": RECOMMENDED,
            form_fields.PLACE: form_fields.HERE,
        }
        return shared | {"minibatches": self._length()}

    def _usual(self, model: str) -> dict[str, str]:
        """Return the initial settings of a model: its defaults, or what a fork takes over."""
        about = self._known.settings[model] if self._known else ()
        texts = {each.name: format_default(each.default) for each in about}
        if (corpus := self._proposed_for()) is not None:
            texts["layers"] = format_default(propose_layers(corpus, model))
        link = {"link": self._link()} if "link" in texts else {}
        return texts | link | find_preset(model, self._preset(model)).texts | self._inherited(model)

    def _preset(self, model: str) -> str:
        """Return the chosen preset, or the recommended one where the model lacks it."""
        chosen = self._typed.get("preset", RECOMMENDED)
        return chosen if chosen in list_presets(model) else RECOMMENDED

    def _proposed_for(self) -> corpus_rows.CorpusRow | None:
        """Return the corpus whose size determines the widths until they are typed; None where there is none."""
        known = self._known
        if known is None or not known.corpora or known.begin or learns_widths(self._typed):
            return None
        return self._about(known)

    def _about(self, known: _FormOffer) -> corpus_rows.CorpusRow:
        """Return the chosen corpus."""
        return next((each for each in known.corpora if str(each.number) == self._corpus(known)), known.corpora[-1])

    def _values(self, model: str) -> dict[str, str]:
        """Return the current settings of a model; choices that it does not offer are not taken over from another."""
        about = {each.name: each for each in self._known.settings[model]} if self._known else {}
        typed = {name: text for name, text in self._typed.items() if name in about}
        offered = {name: text for name, text in typed.items() if text in (about[name].choices or (text,))}
        usual = self._usual(model)
        values = {name: text for name, text in (usual | offered).items() if name in about}
        return values | ({"layers": usual["layers"]} if self._has_layers(values) else {})

    def _has_layers(self, values: dict[str, str]) -> bool:
        """Return whether the widths are those of a snapshot."""
        return self._known is not None and self._known.begin is not None and not learns_widths(values)

    def _untouched(self) -> dict[str, str]:
        """Return the texts of the form where nothing was typed."""
        return self._fresh() | self._usual(self._model(self._known)) if self._known else {}

    def _seed(self) -> str:
        begin = self._known.begin if self._known else None
        return str(begin.run.seed) if begin else "1"

    def _inherited(self, model: str) -> dict[str, str]:
        """Return what a fork takes over from its parent, as texts."""
        begin = self._known.begin if self._known else None
        return inherit_settings(begin, model, self._typed) if begin else {}

    def _corpus(self, known: _FormOffer) -> str:
        if known.begin:
            return str(known.begin.run.corpus)
        return self._own("corpus") or str(known.corpora[-1].number)

    def _length(self) -> str:
        begin = self._known.begin if self._known else None
        if begin:
            return str(begin.run.planned)
        known = self._known
        if known is None:
            return ""
        model = self._model(known)
        length = find_preset(model, self._preset(model)).minibatches
        if length is None:
            length = choose_length(model, self._config(model), self._about(known))
        return str(length)

    def _config(self, model: str) -> Any:
        """Return the current settings where they can be read, else the defaults."""
        config = models.load(model).Config
        try:
            return settings.parse(config, {name: text for name, text in self._values(model).items() if text.strip()})
        except ValueError:
            return config()

    def _model(self, known: _FormOffer) -> str:
        usual = known.begin.run.model if known.begin else "dlda"
        request = self._typed.get("model", LABEL_MODEL if self._requested and self._requested.labels else usual)
        return request if request in known.titles else next(iter(known.titles))

    # ------------------------------------------------------------- drawing

    def _draw(self) -> None:
        known = self._known
        if known is None:
            return
        errors, _ = self._check()
        model = self._model(known)
        values = self._values(model)
        fields = [
            (about.group != ALWAYS, _make_field(about, values[about.name], errors.get(about.name, "")))
            for about in known.settings[model]
        ]
        if (about := self._proposed_for()) is not None:
            fields = [(more, _add_proposal(field, about, model)) for more, field in fields]
        if self._has_layers(values):
            fields = [(more, _lock_layers(field) if field.name == "layers" else field) for more, field in fields]
        simple = [field for advanced, field in fields if not advanced]
        advanced = [field for advanced, field in fields if advanced]
        advanced.append(form_fields.make_place_field(self._own(form_fields.PLACE), errors.get(form_fields.PLACE, "")))
        self.board.html = draw_new_run_form(
            self._first(known, model, errors),
            simple,
            advanced,
            errors.get("", ""),
            ready=not errors,
            sent=self._sending,
            title=_make_title(known.begin),
        )

    def _presets(self, known: _FormOffer, model: str) -> list[FormField]:
        """Return the choice of a preset, where there is one and settings are not those of a parent."""
        if known.begin is not None or not list_presets(model):
            return []
        choices = [
            (RECOMMENDED, "recommended"),
            *((name, PRESET_LABELS.get(name, name)) for name in list_presets(model)),
        ]
        about = "What you change below wins over it."
        return [FormField("preset", "Settings", about, "choice", self._preset(model), choices)]

    def _first(self, known: _FormOffer, model: str, errors: dict[str, str]) -> list[FormField]:
        corpus_choices = [
            (str(row.number), f"{row.name} · {row.documents:,} documents, {row.words:,} words")
            for row in known.corpora
            if known.begin is None or row.number == known.begin.run.corpus
        ]
        corpus = self._corpus(known) if corpus_choices else ""
        about = "Its topics go on, so it stays." if known.begin else "What the topics are about."
        fields = [
            FormField("corpus", "Corpus", about, "choice", corpus, corpus_choices, locked=known.begin is not None),
            FormField("model", "Model", "How topics are learnt.", "choice", model, tuple(known.titles.items())),
            *self._presets(known, model),
            FormField(
                "minibatches", OWN["minibatches"], "Steps of training; a stopped run keeps what it has.", "text",
                self._typed.get("minibatches", self._length()),
            ),
            FormField("name", "Name", "How you want to call it; may stay empty.", "text", self._typed.get("name", "")),
            FormField(
                "seed", OWN["seed"],
                "The same seed gives the same topics, bit for bit. Several, as in 1-5 or 1,2,7, order a run for each, "
                "together a group that shows what chance does.", "text", self._typed.get("seed", self._seed()),
            ),
            FormField(
                "averaged", "Averaged perplexity too",
                "The protocol of the papers' tables; costs a sweep of all test documents per mini-batch.",
                "flag", self._typed.get("averaged", "false"),
            ),
        ]  # fmt: skip
        return [field._replace(error=errors.get(field.name, "")) for field in fields]

    def _link(self) -> str:
        """Return the link that fits the kind of the chosen corpus."""
        rows = self._known.corpora if self._known else []
        chosen = self._typed.get("corpus", str(rows[-1].number) if rows else "")
        return next((LINK_OF.get(row.kind, "poisson") for row in rows if str(row.number) == chosen), "poisson")


def _make_field(about: Setting, value: str, error: str) -> FormField:
    """Return the form field of a setting."""
    kind = about.kind if about.kind in ("choice", "flag") else "text"
    choices = [(choice, choice) for choice in about.choices]
    hint = describe_bounds(about.low, about.high, format_default(about.default)) if kind == "text" else ""
    return FormField(about.name, about.label, about.help, kind, value, choices, error, hint, group=about.group)


def _add_proposal(field: FormField, about: corpus_rows.CorpusRow, model: str) -> FormField:
    """Add to the field of the widths where its numbers come from."""
    if field.name != "layers":
        return field
    return field._replace(hint=describe_widths(propose_layers(about, model), about.train_documents))


def _lock_layers(layers: FormField) -> FormField:
    """Lock the field of the widths, which are those of a snapshot."""
    return layers._replace(help="Those of the snapshot: its topics go on, so their numbers stay.", hint="", locked=True)


def _check_settings(config: Any, texts: dict[str, str], *, alone: bool) -> str:
    """Return the sentence about what is wrong with some settings, or an empty text.

    Alone, a setting may lack the others it depends on: only a sentence about itself counts.
    """
    try:
        settings.parse(config, texts)
    except SettingError as error:
        said = str(error)
        return (
            said
            if not alone
            or said.startswith((*(f"{name} must" for name in texts), *(f"{name} cannot" for name in texts)))
            else ""
        )
    return ""


def _explain_no_origin(db: Database, request: ForkRequest) -> str:
    """Return why a link does not lead to topics that a run could begin with."""
    try:
        runs.get_run(db, request.run)
    except NotFound:
        return f"There is no run {request.run} in this store (any more), so there is nothing to continue."
    if request.snapshot:
        return f"Run {request.run} has no such snapshot (any more); continue it from another one."
    return f"Run {request.run} has no topics yet; it can be continued after its first snapshot."


def _draw_no_form(heading: str, sentence: str) -> str:
    """Draw the page without a form: the reason, and the way back."""
    why = f"<fieldset>{draw_error(sentence)}</fieldset>"
    return draw_sheet((heading, ""), f'<div class="tp-form">{why}<div class="tp-form-acts">{BACK}</div></div>')


def _make_title(begin: ForkOrigin | None) -> tuple[str, str]:
    """Return the heading of the form, and the line under it."""
    if begin is None:
        return "New run", "It trains in a process of its own: close this page whenever you like."
    return (
        f"Continue run {begin.run.number}",
        f"A run of its own that begins with the topics of run {begin.run.number} at mini-batch "
        f"{begin.snapshot.minibatch:,}, {format_default(begin.layers)}; settings are those of that run where the model "
        "knows them.",
    )


_WAIT = '<div class="tp-page-in"><p class="tp-wait" role="status">Reading the settings of the models …</p></div>'
