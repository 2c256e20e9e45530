"""Of mail, what its writer wrote stays."""

import pytest

from app.ingest.text.cleaning import strip_mail_lines

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
