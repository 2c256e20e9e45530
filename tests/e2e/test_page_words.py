"""What the pages say is one language: no names of the code, no values that are none, no word for an inside."""

import re

import garden

from topiary.store.database import open_database

TEXT = """() => {
  const found = []
  const walk = (root) => {
    for (const each of root.childNodes) {
      if (each.nodeType === Node.TEXT_NODE) { found.push(each.textContent) }
      if (each.nodeType !== Node.ELEMENT_NODE || ["STYLE", "SCRIPT", "PRE"].includes(each.nodeName)) { continue }
      for (const name of ["title", "aria-label", "placeholder", "data-tip"]) {
        if (each.getAttribute(name)) { found.push(each.getAttribute(name)) }
      }
      if (each.shadowRoot) { walk(each.shadowRoot) }
      walk(each)
    }
  }
  walk(document.body)
  return found
}"""
CODE = {
    "a name with an underscore": re.compile(r"\b(?!eps_|M_|phi_|[a-z]_\d|gamma_0)[A-Za-z]{2,}_[A-Za-z_]+\b"),
    "a flag of the command line": re.compile(r"(?<![\w-])--[a-z]"),
    "a value that is none": re.compile(r"\b(?:None|nan|NaN|null|undefined|inf|Infinity)\b"),
    "a name of a model in the code": re.compile(
        r"\b(?:lda-(?:gibbs|cavi|svi)|deep-exp-family|double-def)\b", re.IGNORECASE
    ),
    "a value of a choice in the code": re.compile(r"\b(?:tlasgr|tlfsgr|sgrld|sgnht|AUTO)\b"),
    "an error of Python": re.compile(r"Traceback|Error:|Exception\b"),
}
SETTING = re.compile(r"[a-z0-9_]+: ")


def test_no_page_speaks_in_names_of_the_code(start_server, planted, page, wait_until_quiet):
    db = open_database(planted)
    row = garden.begin(db, 1, "second", fork=1)
    garden.advance(db, row, 10)
    db.close()
    server = start_server(planted)
    said = {}
    for name in ("runs", "watch", "explore", "compare", "seeds", "documents"):
        page.goto(f"{server.url}?page={name}&run=1")
        page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        wait_until_quiet(page)
        for text in page.evaluate(TEXT):
            if garden.NASTY in text or SETTING.match(text):
                continue  # a word of the corpus; the tip of a setting, which names it as commands do
            found = [what for what, words in CODE.items() if words.search(text)]
            if found:
                said.setdefault(name, []).append((found, text[:120]))
    assert said == {}
