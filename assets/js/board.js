// A board shows one text of HTML made on the server and reports what a visitor does with it.
//
//   data-do="name"      on click (on a form: on submit) the server hears {do: name, ...data-*}
//   data-change="name"  the same when an input changes; data-input="name" while typing
//   data-again          on a list of acts: it goes back to its first entry, so that the same can be chosen again
//   data-edit="name"    double-click or F2 turns the text into an input; the server hears its value; with data-lines
//                       it may have several lines, and Ctrl+Enter ends it
//   data-remember="key" on an input: the browser remembers its value, and fills it in again
//   data-unfold         on <details>: it is opened when this comes; whether it stays open is up to the visitor
//   data-open="id", data-close   show and close a <dialog>
//   data-file="name"    on an input for files: the server hears its bytes in base64, and its name
//   data-upload="address"  files and folders that are dropped on it, or chosen by inputs in it, are put there, one by
//                       one; the server hears {do: "sending", sent, of}, and {do: "sent", of, name} or "not-sent"
//   data-copy           copies the address of the page
//   data-quote="selector"  copies what is selected in the element that the selector names anywhere on the page, else its
//                       beginning, with data-cite and the address; the server hears "quoted".  If the browser refuses,
//                       the dialog with data-refused shows the text selected
//   data-keys="j ArrowRight"  one of these keys, pressed where nothing is typed, clicks the element, or focuses a field
//   data-from-top="key" when the key changes, what scrolls goes back to the beginning of the element
//   data-bring="key"    when the key changes, the element is brought into the window
//   data-rove           on a list: one stop of the Tab key; arrows walk along its items and what is in them; with the
//                       value "jk" these keys walk too, from anywhere on the page
//   data-point="number" on a row: while the pointer or the focus is on it, the map of documents rings this point
//   data-skip="selector"   on click, what the selector names anywhere on the page gets the focus
//   data-brush="name"   dragging over elements in it that have data-from and data-to marks them; the server then hears
//                       the first data-from and the last data-to.  Escape ends it
//   data-pen="selector" on a button: begins to edit what the selector names
//
// New HTML is merged into what stands there, so that focus, half-typed text, scroll and open
// dialogs survive.

function parse(html) {
  const template = document.createElement("template")
  template.innerHTML = html
  return template.content
}

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "") &&
    (a.dataset?.key ?? "") === (b.dataset?.key ?? "")
}

const LARGEST = 8_000_000 // bytes of a file handed over
const OWN = new Set(["open", "data-editing", "data-stop", "aria-expanded"]) // attributes the visitor changes
const owned = (element, name) => OWN.has(name) || (name === "tabindex" && element.closest("[data-rove]") !== null) ||
  (name === "style" && element.popover) // its place

function merge_attributes(old, next) {
  if (next.dataset?.unfold !== undefined && old.dataset.unfold === undefined) { old.open = true }
  for (const {name} of [...old.attributes]) {
    if (!next.hasAttribute(name) && !owned(old, name)) { old.removeAttribute(name) }
  }
  for (const {name, value} of next.attributes) {
    if (old.getAttribute(name) !== value && !owned(old, name)) { old.setAttribute(name, value) }
  }
  const active = old.getRootNode().activeElement
  if ("checked" in old && old !== active) { old.checked = next.hasAttribute("checked") }
  if (old.nodeName === "INPUT" && old !== active && old.dataset.hold === undefined && old.type !== "checkbox" && old.type !== "radio") {
    old.value = next.getAttribute("value") ?? ""
  }
}

function choose(list) { // once somebody has chosen, a browser no longer follows the attribute
  if (list.nodeName !== "SELECT") { return }
  const chosen = [...list.options].findIndex(option => option.hasAttribute("selected"))
  if (chosen >= 0) { list.selectedIndex = chosen }
}

function merge(old, next) {
  if (old.dataset?.editing !== undefined) { return }
  const known = new Map()
  for (const child of old.childNodes) {
    if (child.dataset?.key) { known.set(child.dataset.key, child) }
  }
  let here = old.firstChild
  for (const wanted of [...next.childNodes]) {
    const key = wanted.dataset?.key
    const moved = key ? known.get(key) : undefined
    if (moved && moved !== here && same(moved, wanted)) { old.insertBefore(moved, here) }
    const found = moved ?? here
    if (found && same(found, wanted)) {
      if (found === here) { here = here.nextSibling }
      if (found.nodeType === Node.ELEMENT_NODE) {
        if (!found.isEqualNode(wanted)) { merge_attributes(found, wanted); merge(found, wanted); choose(found) }
      } else if (found.nodeValue !== wanted.nodeValue) { found.nodeValue = wanted.nodeValue }
    } else {
      old.insertBefore(wanted, here)
    }
  }
  while (here) {
    const gone = here
    here = here.nextSibling
    gone.remove()
  }
}

// What makes a request that is refused to this visitor is shown disabled, with the reason.
function bar(root, refused, why) {
  if (!refused.length) { return }
  const is = (name) => refused.includes(name)
  const close = (element) => {
    if ("disabled" in element) { element.disabled = true }
    element.title = why
  }
  for (const element of root.querySelectorAll("[data-do],[data-change]")) {
    if (element.nodeName === "FORM") {
      if (is(element.dataset.do)) { element.querySelectorAll("[type=submit],[data-upload] input").forEach(close) }
    } else if (is(element.dataset.do) || is(element.dataset.change)) { close(element) }
  }
  for (const element of root.querySelectorAll("[data-edit]")) {
    if (is(element.dataset.edit)) { delete element.dataset.edit; element.title = why }
  }
  for (const element of root.querySelectorAll("[data-open]")) {
    const form = root.querySelector(`#${CSS.escape(element.dataset.open)} form`)
    if (form && is(form.dataset.do)) { close(element) }
  }
  for (const area of root.querySelectorAll("[data-upload]")) {
    if (is("sent")) { delete area.dataset.upload; area.querySelectorAll("input").forEach(close) }
  }
}

function values(form) {
  const found = {}
  for (const field of form.elements) {
    if (!field.name) { continue }
    if (field.type === "checkbox") {
      found[field.name] = String(field.checked)
    } else if (field.type !== "radio" || field.checked) {
      found[field.name] = field.value
    }
  }
  return found
}

const ABREAST = 4 // files on their way at a time

async function gather(entry, found) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed))
    found.push({file, path: entry.fullPath.slice(1)})
    return
  }
  const reader = entry.createReader()
  const some = () => new Promise((done, failed) => reader.readEntries(done, failed))
  for (let entries = await some(); entries.length; entries = await some()) {
    for (const each of entries) { await gather(each, found) }
  }
}

async function dropped(items) {
  const found = []
  const all = [...items].map(item => item.webkitGetAsEntry() ?? item.getAsFile()) // at once: they are gone after an await
  for (const each of all.filter(Boolean)) {
    if (each instanceof File) { found.push({file: each, path: each.name}) } else { await gather(each, found) }
  }
  return found
}

const hidden = (path) => path.split("/").some(part => part.startsWith("."))

async function put(address, files, report) {
  let next = 0, sent = 0, told = 0
  const failed = [] // what is wrong with one file does not keep the next from being sent
  const one = async () => {
    while (next < files.length) {
      const {path, file} = files[next++]
      try {
        const answer = await fetch(`${address}?name=${encodeURIComponent(path)}`, {method: "PUT", body: file})
        if (!answer.ok) { throw new Error(answer.statusText) }
      } catch (error) { failed.push({path, why: String(error.message)}); continue }
      sent += 1
      if (Date.now() - told > 250) { told = Date.now(); report(sent) }
    }
  }
  await Promise.all(Array.from({length: ABREAST}, one))
  return failed
}

const STOPS = "button, a[href], select, [data-edit]" // of a list, for keys
const stops = (item) => [...(item.matches(STOPS) ? [item] : item.querySelectorAll(STOPS))]
  .filter(each => !each.closest("dialog, details:not([open]) > :not(summary)") && !each.disabled)

function rows(list) { // the items of a list that have something to do, each as what can be done
  return [...list.children].map(stops).filter(found => found.length > 0)
}

function rove(list, active) { // of all stops of a list, the Tab key reaches the one last used, or that of the chosen item
  const all = rows(list).flat()
  const stop = all.includes(active) ? active
    : all.find(each => each.dataset.stop !== undefined)
    ?? all.find(each => each.closest("[aria-current], [aria-selected=true], .tp-selected")) ?? all[0]
  all.forEach(each => { each.tabIndex = each === stop ? 0 : -1 })
}

function walk(list, here, key) { // where a key leads from a stop of a list
  const found = rows(list)
  const row = found.findIndex(each => each.includes(here)), place = found[row]?.indexOf(here) ?? -1
  if (row < 0) { return null }
  const flat = found.every(each => each.length === 1)
  const at = (number) => found[number]?.[Math.min(place, found[number].length - 1)]
  const ways = {
    ArrowDown: () => at(row + 1), ArrowUp: () => at(row - 1), Home: () => at(0), End: () => at(found.length - 1),
    ArrowRight: () => flat ? at(row + 1) : found[row][place + 1], ArrowLeft: () => flat ? at(row - 1) : found[row][place - 1],
  }
  return here.nodeName === "SELECT" && key.startsWith("Arrow") ? null : ways[key]?.() ?? null
}

function skip(selector) {
  const found = topiary.seek(selector)
  if (!found) { return }
  if (!found.matches("a, button, input, select, textarea, [tabindex]")) { found.tabIndex = -1 }
  found.focus({focusVisible: true})
}

function recall(key) { // some browsers refuse to remember anything
  try { return localStorage.getItem(key) ?? "" } catch { return "" }
}

function remember(key, value) {
  try { localStorage.setItem(key, value) } catch { /* it has to be typed again */ }
}

const QUOTED = 600 // characters of a quotation where nothing is selected
const TYPING = "input:not([type=range]), textarea, select, [contenteditable], dialog"

function selected(element) { // the text selected in an element; engines differ in who knows of selections in a shadow
  const root = element.getRootNode(), outer = getSelection()
  const picked = root.getSelection?.() ?? outer?.getComposedRanges?.({shadowRoots: [root]})[0]
  if (!picked || !element.contains(picked.anchorNode ?? picked.startContainer)) { return "" }
  if (picked instanceof Selection) { return picked.toString().trim() }
  const range = document.createRange()
  range.setStart(picked.startContainer, picked.startOffset)
  range.setEnd(picked.endContainer, picked.endOffset)
  return range.toString().trim()
}

function quotation(button) {
  const element = topiary.seek(button.dataset.quote)
  const whole = element?.innerText.trim() ?? ""
  const beginning = whole.length > QUOTED ? `${whole.slice(0, QUOTED).replace(/\s+\S*$/, "")} …` : whole
  const text = (element && selected(element)) || beginning
  return [text && `“${text}”`, button.dataset.cite, location.href].filter(Boolean).join("\n")
}

function scroller(element) {
  for (let each = element; each; each = each.parentElement ?? each.getRootNode().host) {
    if (each.scrollHeight > each.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(each).overflowY)) { return each }
  }
  return null
}

function from_top(element) { // nothing of it may stand above the window
  const found = scroller(element)
  if (!found) { return }
  if (found.contains(element) || found === element.getRootNode().host) { found.scrollTop = 0; return }
  const above = found.getBoundingClientRect().top - element.getBoundingClientRect().top
  if (above > 0) { found.scrollTop -= above + 8 }
}

function reveal(element, again = 4) { // in a list that scrolls by itself; the page stays where it is
  const found = scroller(element)
  if (!found || !(found.contains(element) || found === element.getRootNode().host)) { return }
  const frame = found.getBoundingClientRect(), box = element.getBoundingClientRect()
  const top = frame.top + (element.getRootNode().querySelector(".ex-head")?.offsetHeight ?? 0)
  if (box.top >= top && box.bottom <= frame.bottom) { return }
  found.scrollTop += box.top - top - (frame.bottom - top - box.height) / 3
  if (again > 0) { requestAnimationFrame(() => reveal(element, again - 1)) } // cards have their height only once seen
}

function bring(element) {
  const {top} = element.getBoundingClientRect()
  if (top < 0 || top > 0.6 * innerHeight) { element.scrollIntoView({block: "start", behavior: "instant"}) }
}

export function render({model, view}) {
  const root = document.createElement("div")
  root.className = "tp-board"
  topiary.adopt(view, model.sheets, ["board"])
  topiary.known(view.model)
  topiary.menus(root)
  const tell = (name, element, more = {}) => {
    const form = element.closest("form")
    const data = {...element.dataset}
    model.send_msg({...data, do: name, ...(form ? {form: values(form)} : {}), ...more})
  }
  model.on("msg:custom", ({fetch: url, name}) => { // a file that the server has written
    const link = document.createElement("a")
    Object.assign(link, {href: url, download: name})
    link.click()
  })
  const keys = new Map() // of what is scrolled when its key changes
  let drawn = false
  const scroll = (name, act, known) => {
    const element = root.querySelector(`[${name}]`)
    const before = keys.get(name), now = element?.getAttribute(name)
    keys.set(name, now)
    if (now !== undefined && now !== before && known(before)) { act(element) }
  }
  const mark_current = () => {
    if (model.current === null) { return }
    for (const each of root.querySelectorAll("[data-key][aria-current]")) {
      if (each.dataset.key !== model.current) { each.removeAttribute("aria-current"); each.removeAttribute("data-reveal") }
    }
    const now = root.querySelector(`[data-key="${CSS.escape(model.current)}"]`)
    now?.setAttribute("aria-current", "true")
    now?.setAttribute("data-reveal", model.current)
    scroll("data-reveal", element => requestAnimationFrame(() => reveal(element)), () => true)
  }
  const update = () => {
    merge(root, parse(model.html))
    bar(root, model.refused, model.why)
    root.querySelectorAll("[data-rove]").forEach(list => rove(list, view.shadow_el.activeElement))
    scroll("data-from-top", from_top, before => before !== undefined)
    if (model.current === null) { scroll("data-reveal", element => requestAnimationFrame(() => reveal(element)), () => true) }
    mark_current()
    scroll("data-bring", bring, () => drawn)
    drawn = true
    root.querySelectorAll("[data-remember]").forEach(input => { 
      if (!input.value && input !== view.shadow_el.activeElement) { input.value = recall(input.dataset.remember) }
    })
    view.shadow_el.querySelectorAll("[data-autofocus]").forEach(e => { delete e.dataset.autofocus; e.focus() })
  }
  const edit = (element) => {
    if (element.dataset.editing !== undefined) { return }
    const before = element.dataset.value ?? element.textContent
    const lines = element.dataset.lines !== undefined
    const input = document.createElement(lines ? "textarea" : "input")
    input.value = before
    input.className = "tp-edit"
    input.setAttribute("aria-label", element.dataset.label ?? "New name")
    element.dataset.editing = ""
    element.replaceChildren(input)
    input.focus()
    input.select()
    let over = false
    const close = (keep) => {
      if (over) { return }
      over = true
      const value = input.value.trim()
      const inside = input.matches(":focus")
      delete element.dataset.editing
      element.textContent = keep && value ? value : before
      if (inside) { element.focus() } // keys go on where they were
      if (keep && value !== before) { tell(element.dataset.edit, element, {value}) }
    }
    input.addEventListener("blur", () => close(true))
    input.addEventListener("keydown", (event) => {
      event.stopPropagation()
      if (event.key === "Enter" && (!lines || event.ctrlKey || event.metaKey)) { close(true) }
      if (event.key === "Escape") { close(false) }
    })
  }
  root.addEventListener("click", (event) => {
    const over = event.target.closest("[data-skip]")
    if (over) { event.preventDefault(); skip(over.dataset.skip); return }
    const pen = event.target.closest("[data-pen]")
    if (pen) { edit(root.querySelector(pen.dataset.pen)); return }
    const element = event.target.closest("[data-do],[data-open],[data-close],[data-copy],[data-quote],a[data-go]")
    if (!element || element.nodeName === "FORM" || element.disabled) { return }
    if (element.nodeName.toUpperCase() === "A") { // of a picture in small letters
      if (event.ctrlKey || event.metaKey || event.shiftKey) { return }
      event.preventDefault()
    }
    if (element.dataset.open !== undefined) {
      const dialog = root.querySelector(`#${CSS.escape(element.dataset.open)}`)
      dialog?.querySelectorAll("input").forEach(input => { input.value = input.defaultValue })
      dialog?.showModal()
    }
    if (element.dataset.copy !== undefined) {
      const copied = navigator.clipboard?.writeText(location.href) ?? Promise.reject() // there is none without https
      copied.then(() => tell("copied", element), () => tell("not-copied", element))
    }
    if (element.dataset.quote !== undefined) {
      const text = quotation(element)
      const refuse = () => {
        const dialog = root.querySelector("dialog[data-refused]"), field = dialog.querySelector("textarea")
        field.value = text
        dialog.showModal()
        field.select()
      }
      const copied = navigator.clipboard?.writeText(text) ?? Promise.reject()
      copied.then(() => tell("quoted", element), refuse)
    }
    if (element.dataset.do !== undefined && !(element.type === "submit" && element.form)) { tell(element.dataset.do, element) }
    if (element.dataset.close !== undefined) { element.closest("dialog")?.close() }
  })
  root.addEventListener("mousedown", (event) => {
    if (event.target.closest("[data-quote]")) { event.preventDefault() } // what is selected stays selected
  })
  root.addEventListener("focusin", (event) => {
    const list = event.target.closest("[data-rove]")
    if (list && event.target.matches(STOPS)) {
      list.querySelectorAll("[data-stop]").forEach(each => { delete each.dataset.stop })
      event.target.dataset.stop = ""
      rove(list, event.target)
    }
  })
  for (const [name, is_on] of [["pointerover", true], ["focusin", true], ["pointerout", false], ["focusout", false]]) {
    root.addEventListener(name, (event) => {
      const row = event.target.closest("[data-point]")
      if (row) { document.dispatchEvent(new CustomEvent("topiary-point", {detail: is_on ? Number(row.dataset.point) : -1})) }
    })
  }
  root.addEventListener("submit", (event) => {
    if (event.target.method === "post") { return } // leaves the page
    event.preventDefault()
    if (event.target.dataset.do) { tell(event.target.dataset.do, event.target) }
    event.target.closest("dialog")?.close()
  })
  const take = (input) => {
    const file = input.files[0]
    if (!file) { return }
    const hand = (value) => tell(input.dataset.file, input, {value, file: file.name, size: file.size})
    const reader = new FileReader()
    reader.onload = () => hand(reader.result.split(",")[1] ?? "")
    if (file.size > LARGEST) { hand("") } else { reader.readAsDataURL(file) }
    input.value = "" // so that the same file can be chosen again
  }
  const upload = async (area, found) => {
    const files = found.filter(({path}) => !hidden(path))
    const of = files.length
    if (!of) { return }
    tell("sending", area, {sent: 0, of})
    const failed = await put(area.dataset.upload, files, (sent) => tell("sending", area, {sent, of}))
    if (failed.length === of) { tell("not-sent", area, {value: failed[0].why}); return }
    const lost = new Set(failed.map(({path}) => path))
    const tops = new Set(files.map(({path}) => path).filter(path => !lost.has(path)).map(path => path.split("/")[0]))
    const why = failed.slice(0, 3).map(({path, why}) => `${path} was not sent: ${why}`).join("; ")
    tell("sent", area, {of: of - failed.length, name: tops.size > 1 ? "" : [...tops][0], failed: why})
  }
  const over = (event) => event.target.closest?.("[data-upload]")
  root.addEventListener("dragover", (event) => {
    const area = over(event)
    if (area) { event.preventDefault(); area.classList.add("tp-aimed") }
  })
  root.addEventListener("dragleave", (event) => over(event)?.classList.remove("tp-aimed"))
  root.addEventListener("drop", (event) => {
    const area = over(event)
    if (!area) { return }
    event.preventDefault()
    area.classList.remove("tp-aimed")
    dropped(event.dataTransfer.items).then(found => upload(area, found), error => tell("not-sent", area, {value: String(error)}))
  })
  root.addEventListener("change", (event) => {
    if (event.target.dataset.remember !== undefined) { remember(event.target.dataset.remember, event.target.value) }
    const area = event.target.type === "file" && event.target.closest("[data-upload]")
    if (area) {
      upload(area, [...event.target.files].map(file => ({file, path: file.webkitRelativePath || file.name})))
      event.target.value = "" // so that the same file can be chosen again
      return
    }
    if (event.target.dataset.file !== undefined) { take(event.target); return }
    const element = event.target.closest("[data-change]")
    if (element) {
      const value = event.target.type === "checkbox" ? String(event.target.checked) : event.target.value
      tell(element.dataset.change, element, {value})
      if (element.dataset.again !== undefined) { element.selectedIndex = 0 }
    }
  })
  let brush = null // the stops of a drag, and the first and the last one marked
  const stop_at = (x) => brush.stops.findLastIndex((each, place) => place === 0 || each.getBoundingClientRect().left <= x)
  const mark = (last) => {
    brush.last = last
    const [low, high] = [brush.first, last].sort((a, b) => a - b)
    brush.stops.forEach((each, place) => each.classList.toggle("tp-brushed", place >= low && place <= high))
    return [brush.stops[low], brush.stops[high]]
  }
  const leave = () => {
    brush?.stops.forEach(each => each.classList.remove("tp-brushed"))
    brush = null
  }
  root.addEventListener("pointerdown", (event) => {
    const area = event.target.closest("[data-brush]")
    if (!area || event.button !== 0 || !event.target.closest("[data-from]")) { return }
    event.preventDefault() // no text is selected meanwhile
    brush = {area, stops: [...area.querySelectorAll("[data-from]")]}
    brush.first = stop_at(event.clientX)
    mark(brush.first)
  })
  const drag = (event) => { if (brush) { mark(stop_at(event.clientX)) } }
  const drop = (event) => {
    if (!brush) { return }
    const [first, last] = mark(stop_at(event.clientX))
    tell(brush.area.dataset.brush, brush.area, {from: first.dataset.from, to: last.dataset.to})
    leave()
  }
  const give_up = (event) => { if (event.type === "pointercancel" || event.key === "Escape") { leave() } }
  const dragging = {pointermove: drag, pointerup: drop, pointercancel: give_up, keydown: give_up}
  for (const [name, act] of Object.entries(dragging)) { document.addEventListener(name, act) }
  model.on("remove", () => {
    for (const [name, act] of Object.entries(dragging)) { document.removeEventListener(name, act) }
  })
  let typing = 0
  root.addEventListener("input", (event) => {
    if (event.target.type === "file") { return } // files are told of by "change"; a form is not typed in meanwhile
    const gate = event.target.closest("dialog")?.querySelector("[data-needs]")
    if (gate) { gate.disabled = event.target.value !== gate.dataset.needs }
    const element = event.target.closest("[data-input]")
    // What is chosen, not typed, is told of by "change". Told again later, with values from before the answer to the
    // first message, it would look as if somebody had typed these values.
    if (element && event.target.matches("select, [type=radio], [type=checkbox]") && event.target.closest("[data-change]")) { return }
    if (element) {
      const {value} = event.target // read now: after the event its target is the outermost host
      clearTimeout(typing)
      typing = setTimeout(() => tell(element.dataset.input, element, {value}), 250)
    }
  })
  root.addEventListener("dblclick", (event) => {
    const element = event.target.closest("[data-edit]")
    if (element) { event.preventDefault(); edit(element) }
  })
  root.addEventListener("keydown", (event) => {
    const element = event.target.closest("[data-edit]")
    if (element && event.key === "F2") { event.preventDefault(); edit(element) }
    const list = event.target.closest("[data-rove]")
    const key = list?.dataset.rove === "jk" ? {j: "ArrowDown", k: "ArrowUp"}[event.key] ?? event.key : event.key
    const next = list && !event.ctrlKey && !event.metaKey && !event.altKey && walk(list, event.target, key)
    if (next) {
      event.preventDefault()
      next.focus()
      next.scrollIntoView({block: "nearest"})
    }
  })
  const press = (event) => {
    const from = event.composedPath()[0]
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || from.closest?.(TYPING)) { return }
    const shown = (each) => (each.closest("[popover]")?.parentElement ?? each).getClientRects().length > 0 && !each.disabled
    const element = [...root.querySelectorAll("[data-keys]")].find(each => each.dataset.keys.split(" ").includes(event.key) && shown(each))
    const list = "jk".includes(event.key) && [...root.querySelectorAll("[data-rove=jk]")].find(shown)
    if (!element && !list) { return }
    event.preventDefault()
    if (!element) { rows(list).flat().find(each => each.tabIndex === 0)?.focus() } else if (element.matches("input")) {
      element.focus()
      element.select()
    } else { element.click() }
  }
  document.addEventListener("keydown", press)
  model.on("remove", () => document.removeEventListener("keydown", press))
  model.on("html", update)
  model.on("current", mark_current)
  update()
  return root
}
