"""Pages in HTML: what people see of them, also of those that were made to keep a reader busy."""

import pytest
from slow_inputs import grows_slowly

from topiary.app.ingest.readers.markup import read_page


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a<!-- no -->b", "ab"),
        ("red <!-- <script> --> pear", "red pear"),
        ("red<script>if (a < b) { '<!--' }</script> pear", "red pear"),
        ("red <STYLE type='x'>p > b {}</style >pear", "red pear"),
        ("red pear<!-- never ends", "red pear"),
        ("<!DOCTYPE html><?xml version='1'?><p>red</p><![CDATA[x]]>pear", "red\npear"),
        ("3 < 4 and 5 > 4", "3 < 4 and 5 > 4"),
        ("red <b", "red"),
        ("<p>one<ul><li>x</ul>two</p>three", "one\nx\ntwo three"),
        (f'red <img src="data:{"x" * 9_000}"> pear', "red\npear"),
        (f"red <{'b' * 9_000}> pear", "red\npear"),
    ],
)
def test_what_is_seen_of_a_page(page: str, text: str) -> None:
    assert read_page(page)[1] == text


@pytest.mark.parametrize(
    "piece",
    ["<!--", "<a ", "<![", "<", "</a", '<a b="', "&", "<!", "<?", "<script>", "&#x", "<a b='\"", "<p>", "<title>"],
)
def test_no_page_keeps_its_reader_for_the_square_of_its_length(piece: str) -> None:
    assert grows_slowly(read_page, piece)
