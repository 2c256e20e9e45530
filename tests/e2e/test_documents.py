"""A visitor reads documents of the table, places a text, and goes from one document to another, in a real browser."""

import pytest

SLOW = 120_000  # the first placement on a machine compiles kernels
LATER = """() => {
  const clock = performance.now.bind(performance)
  performance.now = () => clock() + 1e6
}"""


@pytest.mark.nightly
def test_a_pasted_text_is_placed_marked_and_kept_out_of_the_address(server, page):
    page.on("dialog", lambda dialog: pytest.fail("a word of the text was run as a script"))
    page.goto(f"{server.url}?page=documents&run=1&tab=topics")
    page.get_by_label("A text of your own").fill(
        "Prune the rose hedge, <script>alert(1)</script> then watch the rocket"
    )
    page.locator("form").get_by_role("button", name="Find its topics").click()
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


@pytest.mark.nightly
def test_a_file_is_placed_and_a_document_found_leads_to_the_line_between_two(server, page, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("goal league coach season", encoding="utf-8")
    page.goto(f"{server.url}?page=documents&run=1&tab=topics")
    page.get_by_label("Choose a text file").set_input_files(letter)
    page.locator(".dc-document h3", has_text="letter.txt").wait_for(timeout=SLOW)
    page.get_by_label("Search documents of the corpus").fill("document 17")
    page.locator('.dc-ask .dc-acts button[data-number="17"]').click()
    page.wait_for_url("**documents=17**")
    page.locator(".dc-document .dc-text").wait_for(timeout=SLOW)
    page.get_by_role("button", name="Go between").first.click(timeout=SLOW)
    page.locator(".dc-steps > li").nth(8).wait_for(timeout=SLOW)
    page.get_by_label("Steps").select_option("5")
    page.locator(".dc-steps > li").nth(5).wait_for(state="detached")
    page.wait_for_url("**steps=5**")
    page.reload()
    page.locator(".dc-steps > li").nth(4).wait_for(timeout=SLOW)
    assert page.locator(".dc-steps > li").count() == 5
    assert server.complaints == []


def test_documents_are_found_read_and_left_by_keys_alone(server, page):
    page.goto(f"{server.url}?page=documents&run=1")
    page.locator(".dc-table tbody tr").nth(24).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("rose")
    page.get_by_text("with “rose”").wait_for()
    page.wait_for_url("**query=rose**")
    numbers = page.locator(".dc-table tbody td:first-child").all_inner_texts()
    page.get_by_role("heading", name="Documents").click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**documents={numbers[1]}&**")
    page.get_by_text(f"2 of {len(numbers)} documents that the filters select").wait_for()
    page.locator(".dc-text").wait_for()
    page.keyboard.press("j")
    page.wait_for_url(f"**documents={numbers[2]}&**")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**documents={numbers[1]}&**")
    page.locator(".dc-text mark").first.wait_for(timeout=SLOW)
    page.evaluate(LATER)  # what comes is a step of the history of its own
    page.keyboard.press("Escape")
    page.locator(".dc-table tr[aria-current]").wait_for()
    assert page.locator(".dc-table a:focus").get_attribute("data-number") == numbers[1]
    page.go_back()
    page.locator(".dc-text").wait_for()
    assert server.complaints == []


def test_a_quotation_is_copied_with_its_address_or_shown_selected(server, page):
    page.goto(f"{server.url}?page=documents&run=1&documents=4")
    page.locator(".dc-text mark").first.wait_for(timeout=SLOW)
    page.evaluate("""() => {
      window.quoted = []
      const writeText = async text => { quoted.push(text) }
      Object.defineProperty(navigator, "clipboard", {configurable: true, value: {writeText}})
    }""")
    quote = page.get_by_role("button", name="Quote")
    quote.click()
    page.get_by_text("are in the clipboard").first.wait_for()
    word = page.locator(".dc-text mark").first
    word.dblclick()
    quote.click()
    page.wait_for_function("() => quoted.length === 2")
    whole, picked = page.evaluate("quoted")
    assert whole.startswith("“")
    assert [len(whole.splitlines()), whole.splitlines()[-1]] == [3, page.url]
    assert picked.splitlines()[0] == f"“{word.inner_text().strip()}”"
    assert picked.endswith(page.url)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject() }")
    quote.click()
    field = page.get_by_label("Text of the quotation")
    field.wait_for()
    assert page.url in field.input_value()
    assert field.evaluate("it => it.value.slice(it.selectionStart, it.selectionEnd) === it.value")
    assert server.complaints == []
