"""The page that asks for a password."""

from topiary.app.views.login import draw_ended, draw_login


def test_words_are_escaped_and_the_field_has_a_label():
    page = draw_login('/login?next="><script>', "<b>wrong</b>", viewers=True)
    assert "<script>" not in page
    assert "<b>wrong" not in page
    assert '<label for="password">' in page
    assert "viewers' password" in page


def test_without_viewers_nothing_is_said_of_them():
    assert "viewers" not in draw_login("/login")


def test_a_tab_whose_login_is_over_says_so_in_one_sentence_with_a_link_back():
    page = draw_ended("You have logged out", '/?page=runs&run=1"><script>')
    assert 'You have logged out; <a href="/?page=runs&amp;run=1&#34;&gt;&lt;script&gt;">log in again</a>.' in page
    assert "<script>" not in page
