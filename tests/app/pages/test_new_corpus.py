"""The form that adds documents: what it offers, what it checks, and what it says while a corpus is made."""

import re
from dataclasses import replace
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from topiary.app.ingest import options
from topiary.app.ingest.options import ImportOptions, OptionError
from topiary.app.ingest.report import Cut, Recommendation, Report, Share, describe_recommendation
from topiary.app.ingest.tables.values import Column
from topiary.app.jobs import progress
from topiary.app.jobs.ingest_process import ImportStatus, InspectionStatus
from topiary.app.jobs.uploads import Uploads
from topiary.app.pages import new_corpus
from topiary.app.pages.new_corpus import NewCorpusForm
from topiary.store import corpora

REPORT = Report(
    path="notes.csv", format="csv", why="table of texts", understood={"separator": "semicolon"},
    columns=(Column("body", "text", ("<i>apple</i>",)), Column("kind", "label", ("fruit",))), kind="counts",
    documents=9, train=8, read=10, empty=1, duplicates=2, wordless=1, tokens=100, tokens_kept=40, words=30,
    words_kept=20, cuts=(Cut("min_df", "2", 10, 60, ("rare",)),), scripts=(Share("Latin", 1.0),),
    languages=(Share("English", 1.0),), classes=1, labels=(("fruit", 9),),
    warnings=("the text has only numbers",), notes=("1 .doc left out; see --format",), options={},
)  # fmt: skip
LETTERS = SimpleNamespace(
    number=4, name="letters", documents=1200, train_documents=1000, validation_documents=150, words=300,
    label_names=("a", "b"), meta={"notes": ["<b>"]},
)  # fmt: skip


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of one corpus, and a look at files that is over at once."""
    monkeypatch.setattr(corpora, "list_corpora", lambda _: [LETTERS])
    monkeypatch.setattr(new_corpus, "RunningInspection", Inspected)
    monkeypatch.setattr(new_corpus, "PAUSE", 0.0)
    monkeypatch.setattr(Uploads, "look", lambda *_: Path("notes.csv"))
    monkeypatch.setattr(Inspected, "asked", [])
    monkeypatch.setattr(Inspected, "end", InspectionStatus(report=REPORT))


class Begun:
    """An import that says what it is told to, one standing after the other."""

    number = 1

    def __init__(self, *standings: ImportStatus) -> None:
        self._standings = list(standings)

    def read_status(self, _: ImportStatus) -> ImportStatus:
        return self._standings.pop(0)


class Inspected:
    """A look at files that has ended with a report or an error; remembers with which options it was asked for."""

    asked: ClassVar[list[ImportOptions]] = []
    end: ClassVar[InspectionStatus] = InspectionStatus(error="not looked at")

    def __init__(self, path: Path, request: ImportOptions) -> None:
        self.path = path
        self.asked.append(request)

    def read_status(self, _: InspectionStatus) -> InspectionStatus:
        return self.end

    def cancel(self) -> None:
        """Nothing goes on."""


class Page:
    """The form of a session whose work in the background is done at once, on a store that has one corpus."""

    def __init__(self, *standings: ImportStatus) -> None:
        self.made: list[tuple[str, ImportOptions]] = []
        self.into: list[int] = []
        self.seen: list[str] = []
        self.view = SimpleNamespace(tab="add")
        self._receive_import = Begun(*standings)
        self.deleted: list[int] = []
        self.closers: list[Any] = []
        self.uploads = Uploads()
        actions = SimpleNamespace(uploads=self.uploads, add_corpus=self._add, delete_corpus=self.deleted.append)
        self.form = NewCorpusForm(
            SimpleNamespace(  # type: ignore[arg-type]
                view=self.view, actions=actions, db=None, later=self._later, on_close=self.closers.append
            )
        )
        self.form.refresh()

    def _later(self, work: Any, then: Any) -> None:
        self.seen.append(self.html)
        then(LETTERS if getattr(work, "func", None) is corpora.get_corpus else work())

    def _add(self, token: str, request: ImportOptions, into: int) -> Begun:
        self.made.append((token, request))
        self.into.append(into)
        return self._receive_import

    @property
    def html(self) -> str:
        return self.form.board.html

    @property
    def token(self) -> str:
        return self.form._token

    def handle(self, do: str, **more: Any) -> None:
        self.form.board._handler({"do": do, **more})

    def send(self, files: int = 1, name: str = "notes") -> None:
        self.handle("sending", sent=0, of=files, form=self.fields())
        self.handle("sent", of=files, name=name, form=self.fields())

    def fields(self) -> dict[str, str]:
        return dict.fromkeys(re.findall(r'name="([a-z_]+)" id="field-', self.html), "")

    @property
    def ready(self) -> bool:
        return "disabled" not in re.search(r"<button[^>]*>Make a corpus", self.html)[0]  # type: ignore[index]


def test_every_option_of_an_import_but_files_of_the_machine_is_offered_with_its_help() -> None:
    page = Page()
    assert set(page.fields()) == {"into"} | set(options.HELP) - {"vocabulary", "metadata"}
    assert all(f'id="about-{name}"' in page.html for name in page.fields())


def test_nothing_can_be_made_before_files_are_here() -> None:
    page = Page()
    assert not page.ready
    page.handle("sending", sent=3, of=10, form=page.fields())
    assert "3 of 10 files" in page.html
    assert not page.ready
    page.handle("make", form=page.fields())
    assert page.made == []
    page.handle("sent", of=10, name="notes")
    assert "10 files are here" in page.html
    assert page.ready


@pytest.mark.parametrize(("top", "name"), [("notes", "notes"), ("reviews.csv.gz", "reviews"), ("", "documents")])
def test_the_name_is_that_of_what_was_sent_unless_somebody_gave_one(top: str, name: str) -> None:
    nameless, named = Page(), Page()
    nameless.handle("sent", of=3, name=top)
    assert f'value="{name}"' in nameless.html
    named.handle("typed", form=named.fields() | {"name": "my letters"})
    named.handle("sent", of=3, name=top)
    assert 'value="my letters"' in named.html


def test_what_cannot_be_read_is_said_beside_its_field_and_nothing_is_made() -> None:
    page = Page()
    page.send()
    page.handle("typed", form=page.fields() | {"min_df": "few", "max_df": "7"})
    assert "Rarest words must be a whole number; got" in page.html
    assert "Commonest words must be a share of the documents" in page.html
    assert not page.ready
    page.handle("make", form=page.fields() | {"min_df": "few"})
    assert page.made == []


@pytest.mark.parametrize(("name", "said"), [(" letters ", "already a corpus called"), ("a\x85b", "one line without")])
def test_a_name_that_no_corpus_can_have_is_said_beside_its_field_while_the_files_are_here(name: str, said: str) -> None:
    page = Page()
    page.send()
    page.handle("typed", form=page.fields() | {"name": name})
    assert said in page.html
    assert not page.ready
    page.handle("make", form=page.fields() | {"name": name})
    assert page.made == []
    page.handle("typed", form=page.fields() | {"name": "letters of May"})
    assert said not in page.html
    assert page.ready


def test_files_called_like_a_corpus_that_is_there_ask_for_another_name_at_once() -> None:
    page = Page()
    page.send(name="letters.csv")
    assert "already a corpus called" in page.html
    assert not page.ready


def test_what_came_in_is_looked_at_whatever_the_corpus_is_called() -> None:
    page = Page()
    page.send(name="letters.csv")
    assert "already a corpus called" in page.html
    assert len(Inspected.asked) == 1
    assert "semicolon" in page.html
    page.handle("typed", form=page.fields() | {"name": "letters of May"})
    assert len(Inspected.asked) == 1
    assert page.ready


def test_a_corpus_cannot_be_made_while_the_files_are_looked_at_nor_after_they_were_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = iter(
        [
            InspectionStatus("Reading", 0.5),
            InspectionStatus(error="notes.csv: has no column of text"),
            InspectionStatus(report=REPORT),
        ]
    )
    monkeypatch.setattr(Inspected, "read_status", lambda *_: next(looks))
    page = Page(ImportStatus(error="no"))
    waiting: list[Any] = []
    page.form._context.later = lambda work, then: waiting.append((work, then))
    page.send()
    for _ in range(2):  # one more until it has begun, and one until there is news of it
        assert not page.ready
        page.handle("make", form=page.fields())
        work, then = waiting.pop()
        then(work())
    assert not page.ready
    assert "Reading" in page.html
    work, then = waiting.pop()
    then(work())
    assert "has no column of text" in page.html
    assert not page.ready
    page.handle("make", form=page.fields())
    assert waiting == []
    assert page.made == []
    page.form._context.later = page._later
    page.handle("make", form=page.fields() | {"text_column": "body"})  # what was put right is looked at first
    assert page.made[0][1].text_column == "body"


def test_other_files_are_looked_at_before_a_corpus_is_made_of_them() -> None:
    page = Page()
    page.send()
    assert page.ready
    page.handle("sending", sent=0, of=1, form=page.fields() | {"min_df": "few"})
    page.handle("sent", of=1, name="more")
    assert len(Inspected.asked) == 1  # not with an option that cannot be
    page.handle("typed", form=page.fields())
    assert len(Inspected.asked) == 2
    assert page.ready


def test_what_is_proposed_for_the_files_stands_among_the_first_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(ImportStatus(error="no"))
    page.send()
    folded = page.html.index("<details")
    assert min(page.html.index(f'name="{name}"') for name in ("name_fields", "split")) > folded
    proposed = {"name_fields": "{year}_{label}", "split": "chapters"}
    monkeypatch.setattr(Inspected, "end", InspectionStatus(report=replace(REPORT, proposed=proposed)))
    page.handle("again")
    page.send()
    assert max(page.html.index(f'name="{name}"') for name in ("name_fields", "split")) < page.html.index("<details")
    assert '<option value="{year}_{label}">proposed</option>' in page.html
    assert "proposed: chapters" in page.html
    monkeypatch.setattr(Inspected, "end", InspectionStatus(report=REPORT))
    page.handle("typed", form=page.fields() | {"split": "verses"})
    assert "Divide documents must be paragraphs, chapters, none" in page.html
    page.handle("make", form=page.fields() | {"split": "500 words"})
    assert Inspected.asked[-1].split is None
    assert page.made[0][1].split == "500 words"


def test_columns_of_a_table_that_describes_texts_can_be_chosen_but_that_of_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = (Column("filename", "id", ("a.txt",)), Column("section", "label", ("sea",)))
    about = replace(REPORT, columns=columns, understood={"metadata": "about.csv"})
    monkeypatch.setattr(Inspected, "end", InspectionStatus(report=about))
    page = Page()
    page.send()
    assert page.html.index('name="label_column"') < page.html.index("<details") < page.html.index('name="text_column"')
    assert '<option value="section">section</option>' in page.html
    monkeypatch.setattr(
        Inspected, "end", InspectionStatus(report=replace(about, understood={"file names": "{section}"}))
    )
    page.handle("again")
    page.send()
    assert page.html.index("<details") < page.html.index('name="label_column"')  # names of files have no columns


def test_no_file_of_the_machine_can_be_named_from_a_browser() -> None:
    page = Page(ImportStatus(error="no"))
    page.send()
    page.handle("make", form=page.fields() | {"vocabulary": "/etc/passwd", "metadata": "/etc/passwd"})
    assert page.made[0][1] == ImportOptions()


def test_a_sentence_that_ends_with_a_question_is_not_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = replace(REPORT, warnings=("two of three documents are empty; is it the right file, or column?",))
    monkeypatch.setattr(Inspected, "end", InspectionStatus(report=asking))
    page = Page()
    page.send()
    assert "or column?</li>" in page.html


def test_options_arrive_as_they_were_typed() -> None:
    page = Page(ImportStatus(corpus=1))
    page.send()
    texts = {"min_df": "3", "test_share": "0.25", "binary": "true", "name": "x", "stop_words": "none"}
    page.handle("make", form=page.fields() | texts)
    request = ImportOptions(min_df=3, test_share=0.25, binary=True, name="x", stop_words="none")
    assert [made[1] for made in page.made] == [request]


def test_progress_notes_and_the_corpus_are_shown_and_a_run_can_be_started() -> None:
    page = Page(ImportStatus("Storing documents: 500", 0.5), ImportStatus(corpus=4, notes=("1 .pdf was <left> out",)))
    page.send()
    page.handle("make", form=page.fields())
    assert any("Storing documents: 500" in html and 'aria-valuenow="50"' in html for html in page.seen)
    assert "letters: 1,200 documents (1,000 training, 150 validation, 50 test), 300 words" in page.html
    assert "1 .pdf was &lt;left&gt; out." in page.html
    page.handle("new")
    assert page.view.tab == "new"


def test_an_error_is_shown_and_the_files_can_be_chosen_again() -> None:
    page = Page(ImportStatus(error="a.csv: has no documents"))
    page.send()
    page.handle("make", form=page.fields())
    assert "Nothing was stored" in page.html
    assert "a.csv: has no documents" in page.html
    progress.post_import(progress.ImportNotice(1, "a", progress.Notice("a.csv: has no documents", failed=True)))
    page.handle("again")
    assert progress.list_imports() == ()
    assert "Drop files or a folder here" in page.html
    page.send()
    assert page.ready


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("a/b: lower --min-df or raise --max-df", "a/b: lower “Rarest words” or raise “Commonest words”"),
        ("a--name.txt: name it with --text-column", "a--name.txt: name it with “Column of the text”"),
        ("a.bow: put it there, or name one with --vocabulary", "a.bow: put it there"),
        ("a: for example --encoding latin-1", "a: for example “Encoding” latin-1"),
    ],
)
def test_an_error_names_the_fields_of_the_form_and_no_options_of_the_command(error: str, said: str) -> None:
    page = Page(ImportStatus(error=error))
    page.send()
    page.handle("make", form=page.fields())
    assert f">{said}</p>" in page.html


def test_options_that_exclude_each_other_are_both_named_as_the_form_does() -> None:
    page = Page()
    page.send()
    page.handle("typed", form=page.fields() | {"levels": "3", "binary": "true"})
    assert "Grey values of images and “Only whether a word occurs” exclude each other" in page.html
    assert not page.ready


def test_what_was_sent_is_removed_when_the_browser_is_gone() -> None:
    page = Page()
    coming = page.uploads.place(page.token, "notes/a.txt")
    coming.half.write_text("a rose", encoding="utf-8")
    assert page.uploads.keep(page.token, coming)
    for call in page.closers:
        call()
    assert not coming.whole.exists()
    assert page.uploads.place(page.token, "notes/b.txt") is None


def test_files_that_did_not_come_are_said_and_those_before_stay() -> None:
    page = Page()
    page.send(2)
    page.handle("not-sent", value="There are 3 MB of room")
    assert "There are 3 MB of room" in page.html
    assert "2 files are here" in page.html


def test_the_corpora_that_are_there_are_listed_and_deleted_only_by_their_number() -> None:
    page = Page()
    assert "1,200 documents, 300 words, 2 classes" in page.html
    assert "&lt;b&gt;." in page.html
    page.handle("delete", corpus="4", form={"typed": "letters"})
    assert page.deleted == []
    page.handle("delete", corpus="4", form={"typed": "4"})
    assert page.deleted == [4]


def test_texts_of_options_are_read_by_their_kind() -> None:
    assert options.parse_options({"max_words": " 50 ", "seed": "", "binary": "false"}) == ImportOptions(max_words=50)
    with pytest.raises(OptionError, match="test_share must be a number; got 'half'"):
        options.parse_options({"test_share": "half"})


def test_one_corpus_is_made_however_often_the_button_is_pressed() -> None:
    page = Page()
    page.send()
    page.form._context.later = lambda work, _: work()  # what follows is not there yet
    for _ in range(2):
        page.handle("make", form=page.fields())
    assert len(page.made) == 1
    assert not page.ready


def test_a_file_that_cannot_be_read_is_told_at_once_and_gives_its_name_only_until_something_better_comes() -> None:
    page = Page()
    page.handle("sent", of=1, name="noise.bin")
    assert "noise.bin is of none of the kinds listed here" in page.html
    page.handle("sending", sent=0, of=12, form={"name": "noise"})
    page.handle("sent", of=12, name="mine")
    assert 'value="mine"' in page.html
    assert "noise.bin is of none of the kinds listed here" in page.html
    page.handle("sent", of=3, name="more")
    assert 'value="mine"' in page.html
    page.handle("again")
    assert "noise.bin" not in page.html


def test_each_file_can_be_removed_and_one_that_failed_does_not_hide_the_next() -> None:
    page = Page()
    for name in ("noise.bin", "notes.txt"):
        coming = page.uploads.place(page.token, name)
        assert coming is not None
        coming.half.write_bytes(b"x")
        assert page.uploads.keep(page.token, coming)
    page.handle("sent", of=1, name="noise.bin")
    page.handle("sent", of=1, name="notes.txt", failed="big.csv was not sent: There are 3 MB of room")
    assert "big.csv was not sent: There are 3 MB of room. noise.bin is of none" in page.html
    assert re.findall('data-do="remove" data-value="([^"]+)"', page.html) == ["noise.bin", "notes.txt"]
    page.handle("remove", value="noise.bin")
    assert "1 file is here." in page.html
    assert "noise.bin" not in page.html
    token = page.token
    page.handle("remove", value="../notes.txt")
    assert "notes.txt" in page.html
    page.handle("remove", value="notes.txt")
    assert page.token != token
    assert page.uploads.list_names(token) == []


def test_a_name_that_somebody_gave_stays_whatever_comes() -> None:
    page = Page()
    page.handle("sent", of=1, name="noise.bin")
    page.handle("typed", form={"name": "my letters"})
    page.handle("sent", of=12, name="mine")
    assert 'value="my letters"' in page.html


@pytest.mark.parametrize(
    "name",
    ["letters", "a.csv.gz", "docword.kos.txt", "b.PDF", "train-images-idx3-ubyte", "c.idx3-ubyte.gz", "d.mat", "e.zip"],
)
def test_every_kind_that_is_read_gives_its_name_and_no_word_of_being_left_out(name: str) -> None:
    page = Page()
    page.handle("sent", of=1, name=name)
    page.handle("sent", of=1, name="other.csv")
    assert f'value="{PurePath(name).name.removesuffix(".gz").rsplit(".", 1)[0]}"' in page.html
    assert "none of the kinds listed here" not in page.html


def test_what_came_in_is_said_before_anything_is_made() -> None:
    page = Page()
    assert "What came in" not in page.html
    page.send(name="notes.csv")
    assert page.html.index("What came in") < page.html.index("<legend>The corpus")
    assert "semicolon" in page.html
    assert "&lt;i&gt;apple&lt;/i&gt;" in page.html
    assert "The text has only numbers." in page.html
    assert "Note: 1 .doc left out; see “Format”." in page.html
    assert "Rarest words 2" in page.html  # as the form calls it, not the command
    assert page.made == []


def test_the_columns_of_the_file_can_be_chosen_and_the_report_is_made_again() -> None:
    page = Page(ImportStatus(error="no"))
    page.send(name="notes.csv")
    assert page.html.index('name="label_column"') < page.html.index("<details")
    assert '<option value="kind">kind</option>' in page.html
    page.handle("typed", form=page.fields() | {"label_column": "kind", "min_df": "3"})
    assert [(each.label_column, each.min_df) for each in Inspected.asked] == [(None, None), ("kind", 3)]
    page.handle("typed", form=page.fields() | {"label_column": "kind", "min_df": "3", "name": "other"})
    assert len(Inspected.asked) == 2  # a name changes nothing of it
    page.handle("typed", form=page.fields() | {"label_column": "kind", "min_df": "none"})
    assert len(Inspected.asked) == 2
    page.handle("make", form=page.fields() | {"label_column": "kind", "min_df": "3"})
    assert page.made[0][1].label_column == "kind"


def test_separator_and_quotes_can_be_chosen_beside_the_report_that_says_them() -> None:
    page = Page(ImportStatus(error="no"))
    assert page.html.index('name="separator"') > page.html.index("<details")  # nothing is known of a table yet
    page.send(name="notes.csv")
    assert max(page.html.index(f'name="{name}"') for name in ("separator", "quote")) < page.html.index("<details")
    assert '<datalist id="proposed-separator"><option value="comma">,</option>' in page.html
    page.handle("typed", form=page.fields() | {"separator": "~", "quote": "single"})
    assert [(each.separator, each.quote) for each in Inspected.asked] == [(None, None), ("~", "single")]
    assert 'value="~" list="proposed-separator"' in page.html
    page.handle("typed", form=page.fields() | {"separator": "::"})
    assert "Separator of cells must be comma, semicolon, tab, pipe, space or one character" in page.html
    assert not page.ready
    page.handle("make", form=page.fields() | {"separator": "\t", "quote": "none"})
    assert page.made[0][1].report() == {"separator": "tab", "quote": "none"}


def test_a_table_that_is_refused_for_its_cells_shows_where_to_say_how_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "notes.csv: line 2: has 3 columns; correct it, or say with --separator and --quote how cells are written"
    monkeypatch.setattr(Inspected, "end", InspectionStatus(error=said))
    page = Page()
    page.send(name="notes.csv")
    assert "say with “Separator of cells” and “Quotation mark of cells” how cells are written" in page.html
    assert page.html.index('name="separator"') < page.html.index("<details")


def test_what_cannot_be_read_is_said_before_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Inspected, "end", InspectionStatus(error="notes.csv: has no column of text; name it with --text-column")
    )
    page = Page()
    page.send(name="notes.csv")
    assert "has no column of text; name it with “Column of the text”" in page.html


def test_the_last_report_stays_in_view_until_the_next_is_there() -> None:
    page = Page()
    page.send(name="notes.csv")
    page.seen.clear()
    page.handle("typed", form=page.fields() | {"min_df": "3"})
    assert any("Looking at it" in html and "semicolon" in html for html in page.seen)
    assert "Looking at it" not in page.html


def test_a_corpus_shows_how_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    added = {"added": 5, "file": "more.csv", "documents": 1200, "outside": 3, "tokens_read": 60}
    kept = SimpleNamespace(**vars(LETTERS) | {"meta": {"record": REPORT.to_json(), "additions": [added]}})
    monkeypatch.setattr(corpora, "list_corpora", lambda _: [kept])
    page = Page()
    assert "How it was read" in page.html
    assert "--min-df 2" in page.html
    assert "5 documents of more.csv, after the first 1,200" in page.html


def test_documents_can_be_added_to_a_corpus_that_is_there() -> None:
    page = Page(ImportStatus(corpus=4, appended="9 documents appended (8 training, 1 test)"))
    page.send(name="letters.csv")
    assert not page.ready  # a corpus is called so already
    page.handle("typed", form=page.fields() | {"into": "4", "name": "letters", "max_words": "few"})
    assert "Append to letters" in page.html
    assert 'name="max_words"' not in page.html
    assert "What is left out of the vocabulary" not in page.html
    page.handle("make", form=page.fields() | {"into": "4", "label_column": "kind"})
    assert page.into == [4]
    assert page.made[0][1] == ImportOptions(label_column="kind")
    assert "9 documents appended (8 training, 1 test)." in page.html


def test_what_is_added_to_a_corpus_is_shown_divided_as_its_documents_are(monkeypatch: pytest.MonkeyPatch) -> None:
    record = replace(REPORT, options={"split": "chapters"}).to_json()
    kept = SimpleNamespace(**vars(LETTERS) | {"meta": {"record": record}})
    monkeypatch.setattr(corpora, "list_corpora", lambda _: [kept])
    page = Page(ImportStatus(error="no"))
    page.send()
    page.handle("typed", form=page.fields() | {"into": "4"})
    assert (Inspected.asked[-1].split, Inspected.asked[-1].min_df) == ("chapters", 1)
    page.handle("typed", form=page.fields() | {"into": "4", "split": "none"})
    assert Inspected.asked[-1].split == "none"
    page.handle("make", form=page.fields() | {"into": "4"})
    assert page.made[0][1] == ImportOptions()


def advise(monkeypatch: pytest.MonkeyPatch) -> tuple[Recommendation, ...]:
    """Let the files look like messages in which some words are everywhere."""
    mail = Recommendation("strip_mail", 9, 10, (), ("nntp", "rose"), ("rose", "hedge"))
    common = Recommendation("leave_out_common", 10, 10, ("<edu>", "com"), ("com", "rose"), ("rose",))
    notes = tuple(map(describe_recommendation, (mail, common)))
    report = replace(REPORT, recommended=(mail, common), notes=notes)
    monkeypatch.setattr(Inspected, "end", InspectionStatus(report=report))
    return mail, common


def test_headers_and_quotes_are_left_out_by_one_click_and_kept_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    advise(monkeypatch)
    page = Page(ImportStatus(error="no"))
    page.send()
    assert "These look like messages: 9 begin with From: and Subject:." in page.html
    assert (
        "2 words are in documents of every kind and may say little about the subjects: &lt;edu&gt;, com." in page.html
    )
    assert "<dd>nntp rose</dd>" in page.html
    assert "<dd>rose hedge</dd>" in page.html
    assert "--strip-mail" not in page.html, "the boxes say it, and no note once more"
    page.handle("take", option="strip_mail", form=page.fields())
    assert Inspected.asked[-1].strip_mail
    assert "Headers, quoted lines and signatures of 9 messages are left out." in page.html
    assert re.search(r'name="strip_mail"[^>]* checked', page.html)
    page.handle("decline", option="strip_mail")
    assert not Inspected.asked[-1].strip_mail
    assert "messages" not in page.html
    page.handle("take", option="leave_out_common")
    page.handle("take", option="binary")  # no option that can be recommended
    page.handle("make", form=page.fields() | {"leave_out_common": "true"})
    assert page.made[0][1] == ImportOptions(leave_out_common=True)


def test_other_documents_begin_without_what_was_taken_or_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    advise(monkeypatch)
    page = Page()
    page.send()
    page.handle("take", option="strip_mail")
    page.handle("decline", option="leave_out_common")
    page.handle("again")
    page.send()
    assert page.html.count("(recommended)") == 2
    assert not Inspected.asked[-1].strip_mail


def test_nothing_is_recommended_for_documents_that_are_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    advise(monkeypatch)
    page = Page()
    page.send()
    page.handle("typed", form=page.fields() | {"into": "4"})
    assert "tp-advice" not in page.html


def test_a_corpus_that_is_not_there_is_not_added_to() -> None:
    page = Page(ImportStatus(error="no"))
    page.send()
    page.handle("make", form=page.fields() | {"into": "77"})
    assert page.into == [0]
