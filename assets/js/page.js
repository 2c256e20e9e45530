// What every page has before its components: their code is run as it stands, and they share style sheets.

const topiary = {
  sheets: new Map(), // by name; the text stands in the page's head
  playing: null, // the film that plays, and whether its first snapshot was written into the address bar
  sheet(name) {
    if (!this.sheets.has(name)) {
      const made = new CSSStyleSheet()
      made.replaceSync(document.getElementById(`tp-${name}-css`)?.textContent ?? "")
      this.sheets.set(name, made)
    }
    return this.sheets.get(name)
  },
  adopt(root, names) {
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, ...names.map((name) => this.sheet(name))]
  },
  seek(selector, root = document) { // the first seen element that a selector names, in any shadow
    for (const each of root.querySelectorAll("*")) {
      if (each.matches(selector) && each.getClientRects().length > 0) { return each }
      const within = each.shadowRoot && this.seek(selector, each.shadowRoot)
      if (within) { return within }
    }
    return null
  },
  // BokehJS takes a component that came later than its page for one made here, and would send the whole of it
  // back with its first message; the server knows it.
  known(model) {
    model.document?._new_models?.delete(model)
  },
}

// Panel would read every module letter by letter for imports by bare name; no module of ours has any.
window.importShim = Object.assign((address) => import(address), {addImportMap() {}})
