"""An analyst brings documents in the browser: a folder, one file, a drop; and what goes wrong is said."""

import json
import time

import pytest

from topiary.app.ingest.importing import import_path
from topiary.store import corpora
from topiary.store.database import open_database


def letters(folder):
    """A folder of labelled texts, a page, and a file that is no text."""
    for kind, words in (("sea", "ships harbour storm ferry"), ("town", "money market street bank")):
        (folder / "letters" / kind).mkdir(parents=True)
        for number in range(6):
            (folder / "letters" / kind / f"{number}.txt").write_text(f"{words} {kind} {number}")
    (folder / "letters" / "town" / "page.html").write_text("<title>Fair</title><p>market money</p>")
    (folder / "letters" / "scan.doc").write_text("?")
    return folder / "letters"


def test_a_folder_chosen_in_an_empty_store_becomes_a_corpus_and_a_run_can_read_it(
    start_server, store_url, page, tmp_path
):
    server = start_server(store_url)
    page.goto(server.url)
    page.get_by_role("button", name="Add documents").click()
    make = page.get_by_role("button", name="Make a corpus")
    page.get_by_text("Drop files or a folder here").wait_for()
    assert make.is_disabled()
    page.get_by_label("Choose a folder").set_input_files(letters(tmp_path))
    page.get_by_text("14 files are here").wait_for()
    assert page.get_by_label("Name", exact=True).input_value() == "letters"
    make.click()
    page.get_by_text("letters: 13 documents (12 training, 1 test), 10 words").wait_for()
    page.get_by_text("Note: left out what is not read as text: 1 .doc").wait_for()
    page.get_by_role("button", name="New run on it").click()
    page.get_by_role("heading", name="New run").wait_for()
    chosen = page.get_by_label("Corpus").evaluate("choice => choice.selectedOptions[0].text")
    assert chosen == "letters · 13 documents, 10 words"
    db = open_database(store_url, readonly=True)
    assert corpora.find_corpus(db, "letters").label_names == ("sea", "town")
    db.close()
    assert server.complaints == []


@pytest.mark.nightly
def test_an_import_that_fails_when_its_page_is_closed_is_told_to_whoever_comes_to_look(
    start_server, store_url, new_page, tmp_path
):
    server, first, second = start_server(store_url), new_page(), new_page()
    second.goto(server.url)
    second.get_by_text("No runs yet").wait_for()
    path = tmp_path / "letters.jsonl"
    path.write_text("\n".join(f'{{"text": "ships {word}"}}' for word in ("harbour", "market", "harbour", "market")))
    first.goto(f"{server.url}?page=runs&tab=add")
    first.get_by_label("Choose files").set_input_files(path)
    first.get_by_text("1 file is here").wait_for()
    make = first.get_by_role("button", name="Make a corpus")
    make.click(trial=True)  # the files have been looked at
    db = open_database(store_url)
    import_path(db, path)  # from another page, a moment before
    db.close()
    make.click()
    first.close()
    second.get_by_text("“letters” was not added").wait_for()
    second.get_by_text("there is already a corpus called 'letters'").wait_for()
    second.get_by_role("button", name="Choose the files again").click()
    second.get_by_text("Drop files or a folder here").wait_for()
    second.get_by_role("button", name="Back to the runs").click()
    second.get_by_text("was not added").wait_for(state="detached")


@pytest.mark.nightly
def test_files_that_are_dropped_come_too_and_a_name_that_is_taken_is_said(server, page):
    page.goto(f"{server.url}?page=runs&tab=add")
    page.get_by_text("Drop files or a folder here").wait_for()
    texts = ["rain sun wind", "rain sun snow", "wind and snow"] * 3
    rows = "\n".join(json.dumps({"text": text, "label": "ab"[n % 2]}) for n, text in enumerate(texts))
    files = page.evaluate_handle(
        """text => {
          const data = new DataTransfer()
          data.items.add(new File([text], "allotment.jsonl"))
          return data
        }""",
        rows,
    )
    page.locator("[data-upload]").dispatch_event("drop", {"dataTransfer": files})
    page.get_by_text("1 file is here").wait_for()
    page.get_by_text("there is already a corpus called 'allotment'").wait_for()
    assert page.get_by_role("button", name="Make a corpus").is_disabled()
    page.get_by_label("Name", exact=True).fill("weather")
    page.get_by_role("button", name="Make a corpus").click()
    page.get_by_text("weather: 9 documents (6 training, 3 test)").wait_for()
    page.get_by_role("button", name="Add other documents").click()
    delete(page, "weather").wait_for(state="detached")
    row = delete(page, "allotment")
    page.get_by_text("corpus 'allotment' is used by run 1; delete them first").wait_for()
    assert row.is_visible()


def delete(page, name):
    """Delete a corpus by its row in the list; the row."""
    here = page.get_by_label("Corpora").get_by_role("listitem").filter(has_text=name)
    here.get_by_role("button", name="delete corpus").click()
    here.get_by_label("Number of the corpus").fill(here.get_by_role("dialog").locator("b").inner_text())
    here.get_by_role("button", name="Delete", exact=True).click()
    return here


def test_choosing_files_is_not_typing(server, page):
    """The form's values of a moment ago would otherwise come after the name of what was chosen, and take it away."""
    hierarchies = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda hierarchy: hierarchies.append(str(hierarchy))))
    page.goto(f"{server.url}?page=runs&tab=add")
    page.get_by_text("Drop files or a folder here").wait_for()
    page.get_by_label("Choose a folder").dispatch_event("input")
    page.wait_for_timeout(600)  # a pause in typing is told after 250
    assert not any("typed" in hierarchy for hierarchy in hierarchies)
    page.get_by_label("Name", exact=True).press_sequentially("a")
    until = time.monotonic() + 20
    while not any("typed" in hierarchy for hierarchy in hierarchies):
        assert time.monotonic() < until
        page.wait_for_timeout(100)


@pytest.mark.nightly
def test_what_came_in_is_shown_and_changed_before_a_corpus_is_made_of_it(start_server, store_url, page, tmp_path):
    server = start_server(store_url)
    subjects = (("sea", "ships harbour storm ferry"), ("town", "money market street bank"))
    rows = ["kind;body;year"]
    for n, (kind, words) in enumerate(subjects * 12):
        text = f"{' '.join(words.split()[:3])} row {'abcdef'[n % 6] * 3} {'ghij'[n // 6] * 3}"
        rows.append(f"{kind};{text};19{n:02d}")
    path = tmp_path / "notices.csv"
    path.write_text("\n".join(rows))
    page.goto(f"{server.url}?page=runs&tab=add")
    page.get_by_label("Choose files").set_input_files(path)
    report = page.get_by_role("group", name="What came in")
    report.get_by_text("24 documents").wait_for()
    report.get_by_text("semicolon").wait_for()
    assert report.get_by_role("row", name="body text ships harbour storm row aaa").count() == 1
    report.get_by_text("2 classes: sea 12, town 12").wait_for()
    page.get_by_label("Column of the label").select_option("year")
    report.get_by_text("The label is another one in every document").wait_for()
    page.get_by_label("Column of the label").select_option("kind")
    report.get_by_text("2 classes: sea 12, town 12").wait_for()
    page.get_by_role("button", name="Make a corpus").click()
    page.get_by_text("notices: 24 documents (22 training, 1 validation, 1 test)").wait_for()
    page.get_by_text("Read as csv").wait_for()
    page.get_by_role("button", name="Add other documents").click()
    page.get_by_text("How it was read").click()
    page.get_by_text("2 classes: sea 12, town 12").wait_for()
    assert server.complaints == []


@pytest.mark.nightly
def test_long_texts_and_the_table_about_them_come_in_together_and_are_divided(start_server, store_url, page, tmp_path):
    server = start_server(store_url)
    paragraphs = ("ships harbour storm ferry. ", "money market street bank. ")
    (tmp_path / "books").mkdir()
    for number in range(6):
        text = (paragraphs[number % 2] + "abcdef"[number] * 3 + " ") * 15
        chapters = "".join(f"Chapter {place}\n\n{text}\n\n" for place in range(1, 4))
        (tmp_path / "books" / f"{number}.txt").write_text(f"Book {number}\n\n{chapters}")
    rows = [f"{number}.TXT,{('sea', 'town')[number % 2]},19{number}0-01-02" for number in range(6)]
    (tmp_path / "books" / "about.csv").write_text("\n".join(["file,section,date", *rows]))
    page.goto(f"{server.url}?page=runs&tab=add")
    page.get_by_label("Choose a folder").set_input_files(tmp_path / "books")
    report = page.get_by_role("group", name="What came in")
    report.get_by_text("about.csv by its column 'file': 6 of 6 texts have a row, label is 'section'").wait_for()
    page.get_by_text("How files are read").click()
    page.get_by_label("Divide documents").fill("chapters")
    report.get_by_text("chapters: 6 documents in 18 passages").wait_for()
    report.get_by_text("1 of 6 documents, with all their passages, is drawn for the test").wait_for()
    page.get_by_role("button", name="Make a corpus").click()
    page.get_by_text("books: 18 documents (15 training, 3 test)").wait_for()
    assert server.complaints == []


@pytest.mark.nightly
def test_separator_and_quotes_are_chosen_where_what_came_in_is_shown(start_server, store_url, page, tmp_path):
    server = start_server(store_url)
    subjects = ("ships, harbour and storm", "money, market and street")
    rows = ["kind~body", *(f"{'ab'[n % 2]}~'{subjects[n % 2]} ~ {'xyzuvw'[n % 6] * 3}'" for n in range(24))]
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(rows))
    page.goto(f"{server.url}?page=runs&tab=add")
    page.get_by_label("Choose files").set_input_files(path)
    report = page.get_by_role("group", name="What came in")
    report.get_by_text("has 2 columns, but line 1 has 1").wait_for()
    report.get_by_text("say with “Separator of cells” and “Quotation mark of cells”").wait_for()
    separator = page.get_by_label("Separator of cells")
    assert separator.evaluate("field => [...field.list.options].map(each => each.value)") == [
        "comma", "semicolon", "tab", "pipe", "space",
    ]  # fmt: skip
    separator.fill("~~")
    page.get_by_text("Separator of cells must be comma").wait_for()
    assert page.get_by_role("button", name="Make a corpus").is_disabled()
    separator.fill("~")
    report.get_by_text("single quotation mark").wait_for()
    report.get_by_text("2 classes: a 12, b 12").wait_for()
    page.get_by_label("Quotation mark of cells").select_option("none")
    report.get_by_text("line 1 has 2, separated by ~").wait_for()
    page.get_by_label("Quotation mark of cells").select_option("single")
    report.get_by_text("2 classes: a 12, b 12").wait_for()
    page.get_by_role("button", name="Make a corpus").click()
    page.get_by_text("odd: 24 documents").wait_for()
    db = open_database(store_url, readonly=True)
    assert corpora.find_corpus(db, "odd").meta["options"] == {"separator": "~", "quote": "single"} | {"name": "odd"}
    db.close()
    page.get_by_role("button", name="Add other documents").click()
    page.get_by_text("How it was read").click()
    page.get_by_text("--separator ~, --quote single").wait_for()
    assert server.complaints == []
