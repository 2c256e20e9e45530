// What every page has before its components: their code is run as it stands, and they share style sheets.

const topiary = {
  sheets: new Map(), // by name; topiary_styles has their texts
  playing: null, // the film that plays, and whether its first snapshot was written into the address bar
  sheet(name) {
    if (!this.sheets.has(name)) {
      const made = new CSSStyleSheet()
      made.replaceSync(topiary_styles[name] ?? "")
      this.sheets.set(name, made)
    }
    return this.sheets.get(name)
  },
  // What the server has drawn already, in the style sheets that it will have.  Nothing else finds what is in it.
  show_preview(root = document.querySelector("#tp-preview")) {
    if (root.id) { document.querySelector("#tp-skeleton").append(root) }
    for (const template of root.querySelectorAll("template[data-sheets]")) {
      const within = template.parentNode.attachShadow({mode: "closed"})
      within.adoptedStyleSheets = template.dataset.sheets.split(" ").filter(Boolean).map(name => this.sheet(name))
      within.append(template.content)
      this.show_preview(within)
    }
  },
  adopt(view, names, own = []) { // names: also in the layout where the component stands
    for (const [root, all] of [[view.shadow_el, [...own, ...names]], [view.parent?.shadow_el, names]]) {
      if (root) { root.adoptedStyleSheets = [...new Set([...root.adoptedStyleSheets, ...all.map(name => this.sheet(name))])] }
    }
  },
  seek(selector, root = document) { // the first seen element that a selector names, in any shadow
    for (const each of root.querySelectorAll("*")) {
      if (each.matches(selector) && each.getClientRects().length > 0) { return each }
      const within = each.shadowRoot && this.seek(selector, each.shadowRoot)
      if (within) { return within }
    }
    return null
  },
  // What a button with popovertarget opens stands at the button, above it low in the window.  Arrows walk in it; Escape
  // closes it and gives the focus back; a click elsewhere, or on an entry with data-shut, closes it too.
  menus(root) {
    const opener = (menu) => root.querySelector(`[popovertarget="${CSS.escape(menu.id)}"]`)
    const stops = (menu) => [...menu.querySelectorAll("button, input, select, summary")]
      .filter(each => each.getClientRects().length > 0 && !each.disabled)
    root.addEventListener("beforetoggle", ({target, newState}) => {
      const box = target.popover && newState === "open" && opener(target)?.getBoundingClientRect()
      if (!box) { return }
      const isLow = box.top > 0.6 * innerHeight
      const [top, bottom] = isLow ? ["auto", `${innerHeight - box.top + 6}px`] : [`${box.bottom + 6}px`, "auto"]
      const right = `${Math.max(8, Math.min(innerWidth - box.right, innerWidth - 316))}px`
      Object.assign(target.style, {top, bottom, right, maxHeight: `${(isLow ? box.top : innerHeight - box.bottom) - 14}px`})
    }, true)
    root.addEventListener("click", ({target}) => target.closest("[data-shut]")?.closest("[popover]")?.hidePopover(), true)
    root.addEventListener("focusout", ({target, relatedTarget: next}) => {
      const menu = target.closest("[popover]")
      if (menu && next && !menu.contains(next) && next !== opener(menu)) { menu.hidePopover() }
    })
    root.addEventListener("keydown", (event) => {
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key]
      const menu = event.target.closest("[popover]")
      if (menu && event.key === "Escape") { event.preventDefault(); menu.hidePopover(); opener(menu)?.focus() }
      const opened = step === 1 && root.querySelector(`[id="${event.target.getAttribute("popovertarget")}"]`)
      if (!step || event.target.nodeName === "SELECT" || !(menu || opened)) { return }
      event.preventDefault()
      if (opened) { opened.showPopover(); stops(opened)[0]?.focus(); return }
      const all = stops(menu)
      all[(all.indexOf(event.target) + step + all.length) % all.length].focus()
    })
  },
  // BokehJS takes a component that came later than its page for one made here, and would send the whole of it
  // back with its first message; the server knows it.
  known(model) {
    model.document?._new_models?.delete(model)
  },
}

// Panel would read every module letter by letter for imports by bare name; no module of ours has any.
window.importShim = Object.assign((address) => import(new URL(address, document.baseURI)), {addImportMap() {}})
