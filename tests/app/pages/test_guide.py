"""The guide inside the app."""

import re

from app.pages.guide import list_chapters, render_chapter


def test_pictures_of_the_guide_are_in_its_pages_and_ask_for_nothing_else():
    pictures = [
        found for name in list_chapters() for found in re.findall(r'<img src="([^"]{0,60})', render_chapter(name))
    ]
    assert pictures
    assert all(found.startswith("data:image/svg+xml;base64,") for found in pictures)
