"""The page Steer in a browser: from a topic of Explore to edits that wait, by mouse and by keys."""

from playwright.sync_api import expect


def test_edits_of_a_topic_wait_until_they_are_applied_and_can_be_left_out(shared_server, new_page):
    page = new_page()
    page.goto(f"{shared_server.url}?page=explore&run=1&layer=1&topic=2")
    page.get_by_role("button", name="Steer", exact=True).click()
    page.wait_for_url("**page=steer**")
    row = page.locator(".st-words li").first
    word = row.locator(".st-word").inner_text()
    row.hover()
    row.get_by_role("button", name="Not here").click()
    waiting = page.get_by_role("list", name="Edits to apply")
    expect(waiting).to_contain_text(f"Keep {word} out of")
    expect(row.locator(".st-pill")).to_have_text("not here …")
    page.get_by_role("button", name="Pin", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Apply 2 edits")).to_be_enabled()
    expect(page.get_by_role("heading", name="New topic")).to_have_count(0)  # this run keeps no topics of tokens
    page.get_by_role("textbox", name="Words to keep in the topic").fill("nosuchword")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The corpus has no")).to_be_visible()
    waiting.get_by_role("button").first.click()
    expect(page.get_by_role("button", name="Apply 1 edit")).to_be_enabled()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("button", name="Nothing to apply yet")).to_be_disabled()
    page.locator(".st-tree .tp-tile[aria-level='1']").first.click(position={"x": 12, "y": 8})
    expect(page.locator(".st-topic .ex-over")).to_contain_text("of all words")
    page.get_by_role("button", name="Back to Explore").click()
    page.wait_for_url("**page=explore**")
