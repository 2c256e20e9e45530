"""Words cut at the ends of lines: joined where the collection writes them as one, kept where it writes a hyphen."""

import pytest
from ingest_samples import write
from slow_inputs import grows_slowly

from topiary.app.ingest.importing import import_path
from topiary.app.ingest.new_documents import find_rules
from topiary.app.ingest.options import ImportOptions
from topiary.app.ingest.text.cleaning import HyphenEvidence, Rejoining, find_cuts, strip_mail_lines
from topiary.store import corpora


def decided(*texts):
    words = HyphenEvidence()
    for text in texts:
        words.see(text)
    found = words.decide()
    assert found is not None
    return found


def test_what_the_collection_writes_within_lines_decides():
    found = decided("The com-\nmunist and the well-\nknown.", "A communist, a well-known one, so com-\nmunist.")
    assert found.rejoining.which == "all"
    assert found.rejoining.listed == {"well-known"}
    assert (found.joined, found.kept) == (2, 1)
    assert found.rejoining.apply("The com-\r\nmunist is well-\nknown.") == "The communist is well-\nknown."


def test_two_words_of_the_collection_stay_two_unless_they_hardly_occur_elsewhere():
    assert decided("A pear-\nshaped pear, shaped so.").kept == 1
    assert decided(*["a car-\npet"] * 30, "car and pet, com-\nmunist").joined == 31


def test_a_collection_that_breaks_lines_only_at_its_own_hyphens_keeps_them_all():
    found = decided("It was well-\nknown and ill-\nadvised by ultra-\nmodern men; well-known, ill-advised")
    assert found.joined == 0
    assert found.rejoining.apply("so ultra-\nmodern and xeno-\nphobic") == "so ultra-\nmodern and xeno-\nphobic"


def test_a_capital_after_the_hyphen_is_a_name_and_dashes_and_numbers_are_no_cuts():
    text = "Anglo-\nSaxon, COM-\nMUNIST, all -\nor none, 19-\n20, a-\nb, -----\nword"
    assert [(cut.first, cut.second) for cut in find_cuts(text)] == [("COM", "MUNIST")]


def test_a_word_goes_on_below_the_number_of_its_page():
    every = Rejoining("all")
    assert every.apply("the com-\n\n 12 \n\nmunist and eco-\n\fnomic") == "the communist and economic"
    assert every.apply("the com\u2010\nmunist") == "the communist"
    assert Rejoining("soft").apply("com\u00ad\nmunist eco\u00ac\r\nnomic") == "communist economic"
    assert Rejoining("none").apply("com\u00ad\nmunist") == "com\u00ad\nmunist"


def test_texts_made_to_be_slow_are_not():
    def read(text: str) -> None:
        HyphenEvidence().see(text)
        Rejoining("all").apply(text)

    for begin, piece, end in (("", "x", "-\ny"), ("-\n", "", ""), ("ab-\n", " ", ""), ("a-\nb", "", "")):
        assert grows_slowly(read, begin or piece, piece if begin else "", end)


@pytest.mark.parametrize(("hyphens", "word"), [("auto", "communist"), ("join", "communist"), ("keep", "munist")])
def test_cut_words_are_counted_as_the_option_says_and_the_text_stays(hyphens, word, tmp_path, db):
    for n in range(6):
        write(tmp_path / "in" / f"{n}.txt", f"The com-\nmunist spoke of harvest number {n}\n")
    row = import_path(db, tmp_path / "in", ImportOptions(hyphens=hyphens, max_df=1))
    assert word in corpora.read_vocabulary(db, row.number)
    assert "com-\nmunist" in corpora.read_documents(db, row.number, [0])[0].text
    later = find_rules(row.meta, row.kind, corpora.read_vocabulary(db, row.number)).wording.prepare_text(
        "com-\nmunist pear-\nshaped"
    )
    assert ("communist" in later, "pearshaped" in later) == (hyphens != "keep", hyphens != "keep")
    assert any("joined (com-munist)" in note for note in row.meta["notes"]) == (hyphens == "auto")


MAIL = """From: ann@example.org (Ann)
Newsgroups: sci.space
Subject: Re: Re: Comet over Bern
Organization: The Institute
   of Comets
Lines: 9

Bob <bob@example.org> writes:
>>was it bright?
> Or was it far?
BB> or both

It was as bright as the moon: look at the sky -- not at the lamp.
On Sunday I wrote about it.

--
Ann, Institute of Comets
tel. 123
"""


def test_headers_quotes_and_signature_go_and_the_words_of_the_subject_stay():
    lines = [line for line in strip_mail_lines(MAIL).splitlines() if line]
    assert lines == [
        "Comet over Bern",
        "It was as bright as the moon: look at the sky -- not at the lamp.",
        "On Sunday I wrote about it.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "A story.\n\nFrom: here to there it is far.",
        "To be or not to be\nthat is the question",
        "Subject: something else is no header when alone\nbut a line of a text\n\nthat goes on",
        "Two dashes\n--\n" + "and a long text after them\n" * 20,
        "",
        "\n\n",
    ],
)
def test_what_is_no_mail_stays(text):
    assert strip_mail_lines(text).split() == text.split()


@pytest.mark.parametrize(
    "line",
    [
        "In article <123@x.org> bob@example.org (Bob) writes:",
        "On Mon, 3 May 1993, Bob wrote:",
        "Am 3.5.1993 schrieb Bob:".replace("schrieb Bob:", "Bob schrieb:"),
        "-----Original Message-----",
        "| quoted",
    ],
)
def test_what_announces_a_quotation_goes(line):
    assert strip_mail_lines(f"Before.\n{line}\nAfter.") == "Before.\nAfter."
