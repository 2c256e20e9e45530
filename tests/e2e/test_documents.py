"""A visitor places a text, looks at its words, and goes from one document to another, in a real browser."""

import pytest

SLOW = 120_000  # the first placement on a machine compiles kernels


def test_a_pasted_text_is_placed_marked_and_kept_out_of_the_address(server, page):
    page.on("dialog", lambda dialog: pytest.fail("a word of the text was run as a script"))
    page.goto(f"{server.url}?page=documents&run=1")
    page.get_by_label("A text of your own").fill(
        "Prune the rose hedge, <script>alert(1)</script> then watch the rocket"
    )
    page.get_by_role("button", name="Find its topics", exact=True).click()
    page.get_by_text("known to the corpus").wait_for(timeout=SLOW)
    page.get_by_text("among 40 of the corpus").wait_for(timeout=SLOW)
    assert page.locator(".dc-text mark").count() > 0
    topic = page.locator(".dc-topics .dc-choice").last
    topic.click()
    page.wait_for_url("**trail=L*")
    page.locator('.dc-topics .dc-choice[aria-pressed="true"]').wait_for()
    assert "rocket" not in page.url
    page.get_by_role("link", name="Watch").click()
    page.get_by_text("Layer-adaptive step sizes").wait_for()
    page.go_back()
    page.get_by_text("known to the corpus").wait_for()
    assert page.get_by_label("A text of your own").input_value().startswith("Prune the rose")
    assert server.complaints == []


def test_a_file_is_placed_and_a_document_found_leads_to_the_line_between_two(server, page, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("goal league coach season", encoding="utf-8")
    page.goto(f"{server.url}?page=documents&run=1")
    page.get_by_label("Choose a text file").set_input_files(letter)
    page.locator(".dc-document h3", has_text="letter.txt").wait_for(timeout=SLOW)
    page.get_by_label("Search documents of the corpus").fill("document 17")
    page.get_by_role("button", name="Find its topics: document 17").click()
    page.locator(".dc-document h3", has_text="document 17").wait_for(timeout=SLOW)
    page.get_by_role("button", name="Go between").first.click(timeout=SLOW)
    page.locator(".dc-steps > li").nth(8).wait_for(timeout=SLOW)
    page.get_by_label("Steps").select_option("5")
    page.locator(".dc-steps > li").nth(5).wait_for(state="detached")
    page.wait_for_url("**steps=5**")
    page.reload()
    page.locator(".dc-steps > li").nth(4).wait_for(timeout=SLOW)
    assert page.locator(".dc-steps > li").count() == 5
    assert server.complaints == []
