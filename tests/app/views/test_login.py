"""The page that asks for a password."""

from app.views.login import login_page


def test_words_are_escaped_and_the_field_has_a_label():
    page = login_page('/login?next="><script>', "<b>wrong</b>", viewers=True)
    assert "<script>" not in page
    assert "<b>wrong" not in page
    assert '<label for="password">' in page
    assert "viewers' password" in page


def test_without_viewers_nothing_is_said_of_them():
    assert "viewers" not in login_page("/login")
