"""Notes in a real browser: the name is remembered, the form is empty again, and what is half typed stays."""

import pytest
from playwright.sync_api import expect


@pytest.mark.nightly
def test_a_note_is_written_changed_and_deleted_and_the_browser_remembers_the_name(server, page):
    page.on("dialog", lambda dialog: page.close())  # a text was run as a script
    page.goto(f"{server.url}?page=explore&run=1&layer=1&topic=3&tab=more")
    page.locator(".ex-notes summary").click()
    page.get_by_label("Note on this topic").fill("roses\n<script>alert(1)</script>")
    page.get_by_label("Tag of this topic").fill("to check")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Add", exact=True).click()
    note = page.locator(".ex-remarks p")
    expect(note).to_have_text("roses\n<script>alert(1)</script>")
    expect(page.locator(".ex-labels li span")).to_have_text("to check")
    expect(page.locator(".ex-remarks small")).to_contain_text("Ada · ")
    expect(page.get_by_label("Note on this topic")).to_have_value("")
    expect(page.get_by_label("Note on this topic")).to_be_focused()
    expect(page.get_by_label("Your name")).to_have_value("Ada")
    note.dblclick()
    page.get_by_label("Text of the note").fill("roses\nand hedges")
    page.keyboard.press("Control+Enter")
    page.locator(".ex-remarks p", has_text="and hedges").wait_for()
    page.get_by_label("Note on this topic").fill("half typed")
    page.get_by_label("Delete the tag to check").click()
    page.locator(".ex-labels").wait_for(state="detached")
    expect(page.get_by_label("Note on this topic")).to_have_value("half typed")
    page.goto(f"{server.url}?page=documents&run=1&documents=7")
    page.locator(".ex-notes summary").click()
    expect(page.get_by_label("Your name")).to_have_value("Ada")
    page.get_by_label("Tag of this document").fill("quote")
    page.keyboard.press("Enter")
    expect(page.locator(".ex-labels li span")).to_have_text("quote")
    assert server.complaints == []
