// The callouts of the demo: hints over the page that point at things on it, one after the other, once in every browser.
//
// A callout is closed by its button, by Escape, or by a click on a thing like the one that it points at.  It stands first in the
// page, so that the Tab key reaches it first; it takes the focus from nothing, and covers nothing that it points at.

const KEY = "topiary_callouts" // in the browser's storage: how many have been closed
const GAP = 12 // pixels between a callout and the thing it points at
const EDGE = 8 // pixels between a callout and the edge of the window
const PAUSE = 250 // milliseconds between two looks for the thing: pages are drawn again while a run trains

function recall() {
  try { return Number(localStorage.getItem(KEY) ?? 0) } catch { return Infinity } // nothing can be remembered
}

function remember(count) {
  try { localStorage.setItem(KEY, String(count)) } catch { /* it was shown once, at least */ }
}

const clamp = (value, least, most) => Math.max(least, Math.min(value, most))

// Where a box of a size fits next to a thing, inside a frame; the first of the sides with room for it, or null.
export function place(thing, size, frame, sides) {
  const across = clamp(thing.left + thing.width / 2 - size.width / 2, frame.left, frame.right - size.width)
  const along = clamp(thing.top + thing.height / 2 - size.height / 2, frame.top, frame.bottom - size.height)
  const places = {
    below: {left: across, top: thing.bottom + GAP},
    above: {left: across, top: thing.top - GAP - size.height},
    right: {left: thing.right + GAP, top: along},
    left: {left: thing.left - GAP - size.width, top: along},
  }
  const fits = ({left, top}) => left >= frame.left && top >= frame.top &&
    left + size.width <= frame.right && top + size.height <= frame.bottom
  const side = sides.find(name => fits(places[name]))
  return side ? {side, ...places[side]} : null
}

export function render({model, view}) {
  topiary.known(view.model)
  const note = document.createElement("section")
  note.id = "tp-callout"
  note.hidden = true
  note.setAttribute("aria-live", "polite")
  const heading = document.createElement("h2"), text = document.createElement("p"), close = document.createElement("button")
  close.type = "button"
  note.append(heading, text, close)
  document.body.prepend(note)

  let closed = recall(), thing = null, brought = null

  const find = (step) => {
    if (thing?.isConnected && thing.getClientRects().length > 0) { return thing }
    for (const selector of step.at) {
      const found = topiary.seek(selector)
      if (found) { return found }
    }
    return null
  }
  const bring = () => { // the list of documents may be below the end of its panel, which scrolls by itself
    const panel = thing.getRootNode().host
    if (brought === thing || !panel || panel.scrollHeight <= panel.clientHeight + 1) { return }
    brought = thing
    const inside = panel.getBoundingClientRect(), box = thing.getBoundingClientRect()
    if (box.bottom > inside.bottom - 60) { panel.scrollTop += box.top - inside.top - inside.height / 2 }
  }
  const hide = () => { note.hidden = true }
  const show = () => {
    const step = model.active ? model.steps[closed] : undefined
    thing = step ? find(step) : null
    if (!thing || document.querySelector("#tp-skeleton") || topiary.seek("dialog[open]")) { hide(); return }
    if (note.dataset.step !== String(closed)) {
      note.dataset.step = closed
      note.setAttribute("aria-label", `Hint ${closed + 1} of ${model.steps.length}`)
      heading.textContent = step.heading
      text.textContent = step.text
      close.textContent = closed + 1 < model.steps.length ? "Got it" : "Done"
    }
    bring()
    note.hidden = false
    const bar = document.querySelector("header")?.getBoundingClientRect().bottom ?? 0
    const frame = {left: EDGE, top: EDGE, right: document.documentElement.clientWidth - EDGE, bottom: innerHeight - EDGE}
    const box = thing.getBoundingClientRect()
    const seen = box.bottom > bar && box.top < innerHeight && box.right > 0 && box.left < innerWidth
    const found = seen ? place(box, note.getBoundingClientRect(), frame, step.sides) : null
    if (!found) { hide(); return }
    note.dataset.side = found.side
    note.style.left = `${found.left}px`
    note.style.top = `${found.top}px`
    note.style.setProperty("--point-x", `${clamp(box.left + box.width / 2 - found.left, 16, note.offsetWidth - 16)}px`)
    note.style.setProperty("--point-y", `${clamp(box.top + box.height / 2 - found.top, 16, note.offsetHeight - 16)}px`)
  }
  const dismiss = () => {
    closed += 1
    thing = null
    remember(closed)
    show()
  }
  const on_key = (event) => {
    if (event.key === "Escape" && !note.hidden) { dismiss() }
  }
  const on_click = (event) => {
    const {at} = model.steps[closed] ?? {at: []}
    const is_meant = each => each instanceof Element && at.some(selector => each.matches(selector))
    if (!note.hidden && event.composedPath().some(is_meant)) { dismiss() }
  }
  close.addEventListener("click", dismiss)
  document.addEventListener("keydown", on_key)
  document.addEventListener("click", on_click)
  const timer = setInterval(() => { if (closed < model.steps.length) { show() } }, PAUSE)
  model.on("active", show)
  model.on("remove", () => {
    clearInterval(timer)
    document.removeEventListener("keydown", on_key)
    document.removeEventListener("click", on_click)
    note.remove()
  })
  return document.createElement("div")
}
