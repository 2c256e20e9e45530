// What every page has before its components: their code is run as it stands, and they share style sheets.  It runs
// between BokehJS and Panel.

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
window.importShim = Object.assign((address) => import(address), {addImportMap() {}})

// Of Panel's models, the page has those below.  The others would need two more libraries of BokehJS, each a third of a
// megabyte; of these, two classes that the ones below extend or name are layouts here.
{
  const models = {Column: "models/column", ReactComponent: "models/react_component", ReactiveESM: "models/reactive_esm"}
  const widget = "topiary/widget"
  const register = Bokeh.register_plugin
  Bokeh.register_plugin = (modules, entry, aliases) => {
    modules[aliases["models/index"]] = (require, _, exports) => {
      Object.entries(models).forEach(([name, path]) => { exports[name] = require(path)[name] })
    }
    modules[widget] = (require, _, exports) => {
      const {LayoutDOM, LayoutDOMView} = require("@bokehjs/models/layouts/layout_dom")
      Object.assign(exports, {Widget: LayoutDOM, WidgetView: LayoutDOMView, Markup: LayoutDOM, MarkupView: LayoutDOMView})
    }
    const lacking = Object.fromEntries(["widget", "markup"].map(name => [`models/widgets/${name}`, widget]))
    return register(modules, entry, {...aliases, ...lacking})
  }
}
