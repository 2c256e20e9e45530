// The picture of the tree: pan, zoom, hover, keys.  The SVG text comes finished from the server; this
// only moves it about and reports {do, id} for what the visitor wants.
//
// Zoom, focus and the place of the topic last touched survive every update.
//
// Trees of one group (two runs compared) share their camera; hovering a topic of one lights its twin, the
// node that its data-twin names, in the others.

const NS = "http://www.w3.org/2000/svg"
const LEAST = 12 // pixels of the smallest text that is shown
const BAND = 25 // the largest letters of the captions of layers, as in explore.css
const cameras = new Map() // by model: coming back from another page finds the same zoom
const still = matchMedia("(prefers-reduced-motion: reduce)")
const COMMAND = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl"
const NOTCH = 25 // most of one turn of a wheel that counts; a pinch on a touch pad comes in smaller steps
let taught = false // the hint how to zoom is shown once a visit

function element(name, className, more = {}) {
  const made = document.createElement(name)
  made.className = className
  Object.assign(made, more)
  return made
}

function place_of(node) {
  const [x, y] = (node.getAttribute("transform").match(/-?[\d.]+/g) ?? [0, 0]).map(Number)
  return {x, y}
}

export function render({model, view}) {
  topiary.adopt(view, model.sheets)
  topiary.known(view.model)
  const stage = element("div", "tp-stage")
  const canvas = document.createElementNS(NS, "svg")
  const world = document.createElementNS(NS, "g")
  const tip = element("div", "tp-tip", {hidden: true})
  const note = element("p", "tp-note")
  const hint = element("p", "tp-how", {hidden: true})
  canvas.setAttribute("class", "tp-canvas")
  world.setAttribute("class", "tp-world")
  canvas.append(world)
  stage.append(canvas, note, tip, hint)

  const camera = cameras.get(model.id) ?? {x: 0, y: 0, k: 1, size: [1, 1], fitted: true}
  cameras.set(model.id, camera)
  let anchor = null // the topic last touched: it stays where it is on screen

  // ---------------------------------------------------------------- camera

  const link = (what, more) => {
    if (model.group !== "") { document.dispatchEvent(new CustomEvent("tp-link", {detail: {group: model.group, from: model.id, what, ...more}})) }
  }
  const settle = (moving) => {
    show_camera(moving)
    const {x, y, k, fitted} = camera
    link("camera", {camera: {x, y, k, fitted}, moving})
  }
  const show_camera = (moving) => {
    world.classList.toggle("tp-moving", moving && !still.matches)
    world.style.transform = `translate(${camera.x}px,${camera.y}px) scale(${camera.k})`
    legible()
    stage.dataset.scale = camera.k.toFixed(3)
  }
  // what there is to be read: boxes with all their words, the smallest letters of each level of a small tree, other
  // texts, the pieces for each scale, and the scale at which it was judged
  let written = {boxes: [], words: 0, levels: [], texts: [], pieces: new Map(), k: 0}
  const collect = (picture) => { // all boxes of a tree change together: their smallest letters decide
    const size = (text) => Number(text.getAttribute("font-size"))
    const least = (texts) => Math.min(...[...texts].map(size))
    written = {
      boxes: [...picture.querySelectorAll(".tp-node")].filter(each => each.querySelector(".tp-words")),
      words: least(picture.querySelectorAll(".tp-words > text:not(.tp-share)")),
      levels: [0, 1, 2, 3, 4, 5].map(level => least(picture.querySelectorAll(`.tp-level-${level} text`))),
      texts: [...picture.querySelectorAll("text")].filter(text => !text.closest(".tp-level,.tp-far")).map(text => ({text, size: size(text)})),
      pieces: new Map([[".tp-words", detach(picture, ".tp-words")], [".tp-far", detach(picture, ".tp-far")]]),
      k: 0,
    }
    written.levels.forEach((_, level) => written.pieces.set(`.tp-level-${level}`, detach(picture, `.tp-level-${level}`)))
  }
  const detach = (picture, selector) => // what one scale shows stays out of the page until then: layout would be slow
    [...picture.querySelectorAll(selector)].map(piece => {
      const gap = document.createComment("")
      piece.replaceWith(gap)
      return {piece, gap}
    })
  const attach = (selector, isShown) => {
    for (const {piece, gap} of written.pieces.get(selector)) {
      if (isShown && gap.parentNode) { gap.replaceWith(piece) } else if (!isShown && piece.parentNode) { piece.replaceWith(gap) }
    }
  }
  const legible = () => {
    const {k} = camera
    if (k === written.k) { return }
    written.k = k
    world.style.setProperty("--k", k)
    const level = written.levels.findIndex(size => size * k >= LEAST)
    const isNear = written.words * k >= LEAST // each box has room for all its words
    const gist = level < 0 ? ".tp-far" : `.tp-level-${level}`
    for (const selector of written.pieces.keys()) {
      attach(selector, selector === ".tp-words" ? isNear : selector === gist && !(isNear && written.boxes.length > 0))
    }
    world.dataset.level = level < 0 ? "far" : level
    world.classList.toggle("tp-tiny", BAND * k < LEAST) // the captions of layers have no room to grow further
    written.boxes.forEach(box => box.classList.toggle("tp-near", isNear))
    written.texts.forEach(({text, size}) => text.classList.toggle("tp-small", size * k < LEAST))
  }
  const is_tiled = () => stage.dataset.kind === "tiles" // the picture fills its window and has no buttons
  const find_fit = () => { // the camera that shows the whole tree; null while the page has no size
    const {clientWidth: width, clientHeight: height} = stage
    if (width === 0 || height === 0) { return null }
    const [w, h] = camera.size
    const k = Math.min(width / w, height / h, 1.35)
    return {k, x: (width - k * w) / 2, y: Math.max(0, (height - k * h) / 2)}
  }
  const fit = (moving = true) => {
    const found = find_fit()
    if (found === null) { return }
    Object.assign(camera, found, {fitted: true})
    settle(moving)
  }
  const zoom = (factor, x, y, moving = false) => {
    const k = Math.min(5, Math.max(0.08, camera.k * factor))
    const real = k / camera.k
    Object.assign(camera, {k, x: x - (x - camera.x) * real, y: y - (y - camera.y) * real, fitted: false})
    settle(moving)
  }
  const middle = (factor) => zoom(factor, stage.clientWidth / 2, stage.clientHeight / 2, true)

  // ----------------------------------------------------------- the picture

  const nodes = () => [...world.querySelectorAll(".tp-node")]
  const node = (id) => world.querySelector(`.tp-node[data-id="${CSS.escape(id ?? "")}"]`)
  const tiles = (id) => [...world.querySelectorAll(`.tp-node[data-id="${CSS.escape(id ?? "")}"]`)] // one in each parent
  const key = (each) => each && `${each.dataset.in ?? ""}>${each.dataset.id}`
  const edges = () => [...world.querySelectorAll(".tp-edge")]
  const say = (name, id = null, more = {}) => {
    if (id) { anchor = id; link("anchor", {}) }
    model.send_msg({do: name, id, ...more})
  }

  const rove = () => {
    const all = nodes()
    const stop = node(anchor) ?? node(model.selected) ?? all[0]
    all.forEach(each => each.setAttribute("tabindex", each === stop ? "0" : "-1"))
  }
  const move = (old_nodes, old_edges) => {
    const timing = {duration: 250, easing: "cubic-bezier(.2,.7,.2,1)"}
    for (const each of nodes()) {
      const before = old_nodes.get(key(each))
      const {x, y} = place_of(each)
      if (!before) {
        each.animate([{opacity: 0}, {opacity: 1}], timing)
      } else if (before.x !== x || before.y !== y) {
        each.animate([{transform: `translate(${before.x}px,${before.y}px)`}, {transform: `translate(${x}px,${y}px)`}], timing)
      }
    }
    for (const each of edges()) {
      const line = each.lastElementChild
      const before = old_edges.get(`${each.dataset.from}>${each.dataset.to}`)
      const path = line.getAttribute("d")
      if (before === undefined) {
        line.animate([{strokeOpacity: 0}, {strokeOpacity: 1, offset: 0.2}, {strokeOpacity: 0.42}], {duration: 1600, easing: "ease-out"})
      } else if (before !== path) {
        line.animate([{d: `path("${before}")`}, {d: `path("${path}")`}], timing)
      }
    }
  }
  const draw = () => {
    const parsed = new DOMParser().parseFromString(model.svg, "image/svg+xml").documentElement
    const drawn = model.svg !== "" && parsed.nodeName === "svg"
    const old_nodes = new Map(nodes().map(each => [key(each), place_of(each)]))
    const old_edges = new Map(edges().map(each => [`${each.dataset.from}>${each.dataset.to}`, each.lastElementChild.getAttribute("d")]))
    const active = view.shadow_el.activeElement
    const inside = active && world.contains(active)
    const {id: focused, layer: chip} = inside ? active.dataset : {}
    const stays = node(anchor) ? anchor : model.selected
    const held = old_nodes.get(key(node(stays)))
    collect(parsed)
    if (drawn) {
      const kind = parsed.classList.contains("tp-tiles") ? "tiles" : "tree"
      if (stage.dataset.kind !== kind) { camera.fitted = true }
      stage.dataset.kind = kind
      camera.size = parsed.getAttribute("viewBox").split(" ").slice(2).map(Number)
      if (camera.fitted) { camera.k = find_fit()?.k ?? camera.k } // known before the page is laid out, which is done once
    }
    legible()
    world.replaceChildren(...(drawn ? [...parsed.childNodes].map(child => document.adoptNode(child)) : []))
    note.hidden = drawn
    note.textContent = model.note
    hide()
    if (!drawn) { return }
    world.setAttribute("role", "tree")
    world.setAttribute("aria-label", parsed.getAttribute("aria-label"))
    const now = node(stays)
    if (camera.fitted) {
      fit(old_nodes.size > 0)
    } else if (old_nodes.size === 0) {
      settle(false)
    } else if (held && now) {
      const {x, y} = place_of(now)
      Object.assign(camera, {x: camera.x + camera.k * (held.x - x), y: camera.y + camera.k * (held.y - y)})
      settle(true)
    }
    if (old_nodes.size > 0 && !still.matches) { move(old_nodes, old_edges) }
    choose()
    rove()
    if (inside) { // what had the focus, or what stands for it: keys must not fall out of the tree
      const again = focused ? node(focused) : world.querySelector(`.tp-more[data-layer="${chip}"]`)
      const stop = again ?? node(anchor) ?? world.querySelector('.tp-node[tabindex="0"]')
      stop?.focus({preventScroll: true})
    }
    stage.dataset.drawn = String(Number(stage.dataset.drawn ?? 0) + 1)
  }
  const choose = () => {
    nodes().forEach(each => each.setAttribute("aria-selected", String(each.dataset.id === model.selected)))
    join()
    rove()
  }
  const join = () => { // lines between the tiles of the selected child, as wide as its part in each parent
    world.querySelector(".tp-joins")?.remove()
    const found = tiles(model.selected)
    stage.classList.toggle("tp-joined", found.some(each => each.dataset.parents))
    nodes().forEach(each => each.classList.remove("tp-holds"))
    if (!found[0]?.dataset.parents) { return }
    const ends = found[0].dataset.parents.split(" ").map(text => {
      const [parent, percent] = text.split("=")
      const tile = found.find(each => each.dataset.in === parent) ?? node(parent)
      return tile && {percent: Number(percent), parent, ...place_of(tile), box: tile.querySelector(".tp-box")}
    }).filter(Boolean).sort((a, b) => b.percent - a.percent)
    ends.forEach(end => {
      node(end.parent)?.classList.add("tp-holds")
      end.x += end.box.width.baseVal.value * 0.72
      end.y = Math.min(end.y + end.box.height.baseVal.value - 2, camera.size[1] - 13)
    })
    const group = document.createElementNS(NS, "g")
    group.setAttribute("class", "tp-joins")
    const [first, ...others] = ends
    const made = (name, attributes, text = "") => {
      const piece = document.createElementNS(NS, name)
      Object.entries(attributes).forEach(([each, value]) => piece.setAttribute(each, value))
      piece.textContent = text
      group.append(piece)
    }
    others.forEach(({x, y, percent}) => made("path", {
      d: `M${first.x} ${first.y}Q${(first.x + x) / 2} ${Math.max(first.y, y) + 28} ${x} ${y}`, "stroke-width": 1 + percent / 12,
    }))
    ends.forEach(({x, y, percent}) => {
      made("rect", {x: x - 21, y: y - 10, width: 42, height: 20, rx: 10})
      made("text", {x, y: y + 4.5, "font-size": 12.5, "text-anchor": "middle"}, `${percent}%`)
    })
    world.append(group)
  }

  // -------------------------------------------------------- hover and tips

  const flow = (id) => { // everything above and beneath a topic, with the edges between
    const links = edges()
    const lit = new Set([id, ...nodes().filter(each => each.dataset.in === id).map(each => each.dataset.id)])
    tiles(id).forEach(each => { if (each.dataset.in) { lit.add(each.dataset.in) } })
    const follow = (near, far) => {
      const queue = [id]
      while (queue.length > 0) {
        const at = queue.pop()
        for (const link of links) {
          if (link.dataset[near] === at) {
            link.classList.add("tp-lit")
            if (!lit.has(link.dataset[far])) { lit.add(link.dataset[far]); queue.push(link.dataset[far]) }
          }
        }
      }
    }
    follow("from", "to")
    follow("to", "from")
    return lit
  }
  const twin = (id) => node(id)?.dataset.twin ?? ""
  const unlight = () => {
    stage.classList.remove("tp-dim")
    world.querySelectorAll(".tp-lit").forEach(each => each.classList.remove("tp-lit"))
  }
  const light = (target) => {
    unlight()
    let lit
    if (target.classList.contains("tp-edge")) {
      target.classList.add("tp-lit")
      lit = new Set([target.dataset.from, target.dataset.to])
      link("light", {from_id: twin(target.dataset.from), id: twin(target.dataset.to)})
    } else {
      lit = flow(target.dataset.id)
      link("light", {id: twin(target.dataset.id)})
    }
    dim(lit)
  }
  const dim = (lit) => {
    stage.classList.add("tp-dim")
    lit.forEach(id => tiles(id).forEach(each => each.classList.add("tp-lit")))
  }
  const mirror = ({id, from_id}) => { // what the tree beside this one lights up
    unlight()
    if (from_id === undefined) {
      if (node(id)) { dim(flow(id)) }
      return
    }
    edges().find(each => each.dataset.from === from_id && each.dataset.to === id)?.classList.add("tp-lit")
    dim(new Set([from_id, id]))
  }
  const frame_of = (each) => { // where an element is in the stage
    const box = each.getBoundingClientRect()
    const frame = stage.getBoundingClientRect()
    return {left: box.left - frame.left, top: box.top - frame.top, right: box.right - frame.left, bottom: box.bottom - frame.top}
  }
  const covered = (left, top, boxes) => boxes.reduce((sum, box) =>
    sum + Math.max(0, Math.min(left + tip.offsetWidth, box.right) - Math.max(left, box.left))
      * Math.max(0, Math.min(top + tip.offsetHeight, box.bottom) - Math.max(top, box.top)), 0)
  const beside = (target) => { // a place that covers neither the topic nor what it is joined to
    const own = frame_of(target.querySelector(".tp-box"))
    const id = target.dataset.id
    const near = edges().filter(each => each.dataset.from === id || each.dataset.to === id)
      .map(each => node(each.dataset.from === id ? each.dataset.to : each.dataset.from))
    const spared = [own, ...near.filter(Boolean).map(each => frame_of(each.querySelector(".tp-box")))]
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight]
    const columns = [own.right + 10, own.left - wide - 10, own.left, own.right - wide]
    const rows = [own.top, own.bottom - high, own.top - high - 10, own.bottom + 10]
    const places = [0, 1].flatMap(x => [0, 1, 2, 3].map(y => [columns[x], rows[y]]))
      .concat([2, 3].flatMap(x => [2, 3].map(y => [columns[x], rows[y]])))
      .map(([left, top]) => [
        Math.max(8, Math.min(left, stage.clientWidth - wide - 8)), Math.max(8, Math.min(top, stage.clientHeight - high - 8)),
      ])
    const costs = places.map(([left, top]) => covered(left, top, spared))
    return places[costs.indexOf(Math.min(...costs))]
  }
  const show = (target, x, y) => {
    const [title, ...rest] = target.dataset.tip.split("\n")
    tip.replaceChildren(element("strong", "", {textContent: title}), ...rest.map(line => element("span", "", {textContent: line})))
    tip.hidden = false
    const below = y + 18 + tip.offsetHeight > stage.clientHeight ? y - tip.offsetHeight - 12 : y + 18
    const [left, top] = target.classList.contains("tp-node") ? beside(target) : [x + 16, below]
    tip.style.transform = `translate(${Math.max(8, Math.min(left, stage.clientWidth - tip.offsetWidth - 8))}px,${Math.max(8, top)}px)`
  }
  const hide = () => {
    tip.hidden = true
    unlight()
    link("dark", {})
  }
  const at = (event) => {
    const box = stage.getBoundingClientRect()
    return [event.clientX - box.left, event.clientY - box.top]
  }

  // -------------------------------------------------------------- pointers

  // The page scrolls over a tree as anywhere else: by the wheel, or by one finger.

  const teach = (how) => {
    if (taught) { return }
    taught = true
    hint.textContent = how
    hint.hidden = false
    setTimeout(() => { hint.hidden = true }, 4000)
  }
  const touching = new Map()
  let dragged = false
  const pinch = (id, before, now) => { // the middle of the two fingers holds what is beneath it
    const other = [...touching].find(([each]) => each !== id)[1]
    const spread = (point) => Math.hypot(point[0] - other[0], point[1] - other[1])
    Object.assign(camera, {x: camera.x + (now[0] - before[0]) / 2, y: camera.y + (now[1] - before[1]) / 2})
    zoom(spread(now) / Math.max(1, spread(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2)
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && (event.button !== 0 || event.ctrlKey)) { return } // a menu takes the release
    touching.set(event.pointerId, at(event))
    dragged = touching.size > 1
  })
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event)
    if (event.pointerType === "mouse" && event.buttons === 0 && touching.has(event.pointerId)) { // let go elsewhere
      release(event)
      dragged = false
    }
    const before = touching.get(event.pointerId)
    if (before === undefined) {
      const target = event.target.closest("[data-tip]")
      if (target) { light(target); show(target, x, y) } else { hide() }
      return
    }
    if (touching.size === 2) {
      pinch(event.pointerId, before, [x, y])
      touching.set(event.pointerId, [x, y])
      return
    }
    if (event.pointerType === "touch" || is_tiled()) { return }
    if (!dragged && Math.hypot(x - before[0], y - before[1]) < 5) { return }
    if (!dragged) { dragged = true; canvas.setPointerCapture(event.pointerId); hide(); stage.classList.add("tp-drag") }
    Object.assign(camera, {x: camera.x + x - before[0], y: camera.y + y - before[1], fitted: false})
    touching.set(event.pointerId, [x, y])
    settle(false)
  })
  const release = (event) => {
    touching.delete(event.pointerId)
    stage.classList.remove("tp-drag")
  }
  canvas.addEventListener("pointerup", release)
  canvas.addEventListener("pointercancel", (event) => { // the browser took the finger to scroll the page
    release(event)
    teach("Two fingers move and zoom")
  })
  for (const kind of ["touchstart", "touchmove"]) { // two fingers are ours: the browser would take them to scroll
    canvas.addEventListener(kind, (event) => { if (event.touches.length > 1) { event.preventDefault() } }, { passive: false })
  }
  canvas.addEventListener("pointerleave", hide)
  canvas.addEventListener("click", (event) => {
    if (dragged) { dragged = false; return }
    if (event.detail > 1) { return } // of a double click, which makes a topic the root
    const more = event.target.closest(".tp-more")
    const rest = event.target.closest(".tp-rest") // topics that have no room
    if (rest) { if (rest.dataset.of) { say("select", rest.dataset.of) } else { say("list") } return }
    const target = event.target.closest(".tp-node")
    if (more) { say("more", null, {layer: Number(more.dataset.layer)}) }
    if (!target) { return }
    const id = target.dataset.id
    target.focus({preventScroll: true})
    if (event.target.closest(".tp-toggle")) {
      say("toggle", id)
    } else if (event.shiftKey) {
      say("root", id)
    } else {
      pick(target)
    }
  })
  // The first click (or Enter) chooses a topic; on the chosen one it folds or unfolds.
  const pick = (target) => {
    const folds = target.hasAttribute("aria-expanded") && target.getAttribute("aria-selected") === "true"
    say(folds ? "toggle" : "select", target.dataset.id)
  }
  canvas.addEventListener("dblclick", (event) => {
    const target = event.target.closest(".tp-node")
    if (target && !event.target.closest(".tp-toggle")) { say("root", target.dataset.id) }
  })
  canvas.addEventListener("wheel", (event) => {
    if (is_tiled()) { return }
    if (!event.ctrlKey && !event.metaKey) { teach(`${COMMAND} + wheel zooms`); return }
    event.preventDefault()
    const turned = event.deltaY * (event.deltaMode === 1 ? 18 : 1)
    zoom(Math.exp(-0.01 * Math.max(-NOTCH, Math.min(NOTCH, turned))), ...at(event))
  }, {passive: false})

  // ------------------------------------------------------------------ keys

  const centre = (each) => place_of(each).x + (each.querySelector(".tp-box").width?.baseVal.value ?? 0) / 2 // a circle has no width
  const nearest = (found, from) => found.sort((a, b) => Math.abs(centre(a) - centre(from)) - Math.abs(centre(b) - centre(from)))[0]
  const walk = {
    ArrowDown: (here) => is_tiled() ? inside(here) : on_map(here) ? below(here, 1) : nearest(edges().filter(e => e.dataset.from === here.dataset.id).map(e => node(e.dataset.to)), here),
    ArrowUp: (here) => is_tiled() ? node(here.dataset.in) : on_map(here) ? below(here, -1) : nearest(edges().filter(e => e.dataset.to === here.dataset.id).map(e => node(e.dataset.from)), here),
    ArrowRight: (here) => neighbour(here, 1),
    ArrowLeft: (here) => neighbour(here, -1),
    Home: () => nodes()[0],
    End: () => nodes().at(-1),
  }
  const inside = (here) => nodes().find(each => each.dataset.in === here.dataset.id)
  const neighbour = (here, step) => {
    if (is_tiled()) {
      const row = nodes().filter(each => each.dataset.in === here.dataset.in)
      return row[row.indexOf(here) + step]
    }
    const level = nodes().filter(each => each.getAttribute("aria-level") === here.getAttribute("aria-level"))
    level.sort((a, b) => centre(a) - centre(b))
    return level[level.indexOf(here) + step]
  }
  const on_map = (here) => here.querySelector("circle.tp-box") !== null
  const below = (here, step) => { // the next circle of the map further down (or up)
    const order = nodes().sort((a, b) => place_of(a).y - place_of(b).y)
    return order[order.indexOf(here) + step]
  }
  const rename = (here) => { // a name typed where the topic stands; an empty one takes the name away
    const box = frame_of(here.querySelector(".tp-box"))
    const title = here.dataset.tip.split("\n")[0]
    const field = element("input", "tp-name", {value: title, maxLength: 120})
    field.setAttribute("aria-label", `Name of the topic: ${title}`)
    field.style.width = `${Math.max(150, box.right - box.left)}px`
    field.style.left = `${Math.max(4, Math.min(box.left, stage.clientWidth - 160))}px`
    field.style.top = `${Math.max(4, Math.min(box.top, stage.clientHeight - 40))}px`
    let over = false
    const close = (keep) => {
      if (over) { return }
      over = true
      const focused = field === view.shadow_el.activeElement
      field.remove()
      if (keep && field.value.trim() !== title) { say("rename", here.dataset.id, {value: field.value.trim()}) }
      if (focused) { (node(here.dataset.id) ?? node(anchor))?.focus({preventScroll: true}) }
    }
    field.addEventListener("keydown", (event) => {
      event.stopPropagation()
      if (event.key === "Enter") { close(true) }
      if (event.key === "Escape") { close(false) }
    })
    field.addEventListener("blur", () => close(true))
    hide()
    stage.append(field)
    field.focus()
    field.select()
  }
  const see = (target) => { // bring a topic into the window
    const box = target.getBoundingClientRect()
    const frame = stage.getBoundingClientRect()
    const dx = Math.max(0, frame.left + 12 - box.left) - Math.max(0, box.right - frame.right + 12)
    const dy = Math.max(0, frame.top + 12 - box.top) - Math.max(0, box.bottom - frame.bottom + 12)
    if (dx !== 0 || dy !== 0) { Object.assign(camera, {x: camera.x + dx, y: camera.y + dy, fitted: false}); settle(true) }
  }
  canvas.addEventListener("keydown", (event) => {
    const more = event.target.closest?.(".tp-more")
    if (more && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); say("more", null, {layer: Number(more.dataset.layer)}) }
    const here = event.target.closest?.(".tp-node")
    if (!here || event.ctrlKey || event.metaKey || event.altKey) { return }
    const id = here.dataset.id
    if (walk[event.key]) {
      event.preventDefault()
      const next = walk[event.key](here)
      if (next) { anchor = next.dataset.id; rove(); next.focus({preventScroll: true}); if (!is_tiled()) { see(next) } }
      return
    }
    const open = () => say("root", id)
    const common = {r: open, F2: () => rename(here), Escape: () => say("select", "")}
    const acts = is_tiled()
      ? {...common, Enter: () => event.shiftKey ? open() : pick(here), " ": () => pick(here), h: () => say("apart", id)}
      : {...common, Enter: () => pick(here), " ": () => say("toggle", id), h: () => say("hide", id),
          "+": () => middle(1.3), "-": () => middle(1 / 1.3), 0: () => fit()}
    if (acts[event.key]) { event.preventDefault(); acts[event.key]() }
  })
  canvas.addEventListener("focusin", (event) => {
    const target = event.target.closest(".tp-node")
    if (!target || !target.matches(":focus-visible")) { return }
    light(target)
    show(target, 0, 0)
  })
  canvas.addEventListener("focusout", hide)

  // ---------------------------------------------------------------- saving

  const save = (name, blob) => {
    const link = element("a", "", {href: URL.createObjectURL(blob), download: name})
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10000)
  }
  const paint = (name, text, size) => {
    const picture = new Image()
    picture.onload = () => {
      const scale = Math.min(3, 12000 / Math.max(...size))
      const sheet = element("canvas", "", {width: Math.round(size[0] * scale), height: Math.round(size[1] * scale)})
      sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height)
      sheet.toBlob(blob => save(name, blob), "image/png")
    }
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
  }
  model.on("msg:custom", (message) => {
    if (message.paint) {
      paint(message.name, message.text, message.size)
    } else if (message.name) {
      save(message.name, new Blob([message.text], {type: message.type}))
    }
  })

  // ------------------------------------------------------------------ life

  const field = () => // where words to search for are typed: above the picture
    stage.getRootNode().host?.getRootNode().querySelector(".ex-top")?.shadowRoot?.querySelector("input[type=search]")
  const slash = (event) => {
    const typing = event.composedPath()[0]
    if (event.key === "/" && stage.offsetParent !== null && !typing.closest?.("input:not([type=range]),textarea,select,[contenteditable]")) {
      event.preventDefault()
      field()?.focus() // at once: what is typed before an answer of the server would go to the tree
    }
  }
  // What the server changes while the page is still being opened can get lost; so, once the page is
  // open, it hears how much of the picture is here and sends again what is missing.
  const tell = (width, height) => {
    say("size", null, {width, height, here: model.svg.length})
    if (model.group === "" && width > 0 && height > 0) { // so that the next page is drawn for this window at once
      document.cookie = `topiary_window=${width}x${height};path=${location.pathname};max-age=31536000;samesite=lax`
    }
  }
  setTimeout(() => {
    tell(stage.clientWidth, stage.clientHeight)
    stage.dataset.told = "yes" // tests wait for it
  }, 700)
  let told = ""
  const watcher = new ResizeObserver(() => {
    const {clientWidth: width, clientHeight: height} = stage
    if (width === 0 || height === 0) { return }
    if (camera.fitted) { fit(false) }
    const size = `${width}x${height}`
    if (size !== told) { told = size; tell(width, height) }
  })
  watcher.observe(stage)
  document.addEventListener("keydown", slash)
  const heard = ({detail}) => {
    if (model.group === "" || detail.group !== model.group || detail.from === model.id) { return }
    const acts = {
      camera: () => { Object.assign(camera, detail.camera); show_camera(detail.moving) },
      anchor: () => { anchor = null },
      light: () => mirror(detail),
      dark: unlight,
    }
    acts[detail.what]?.()
  }
  document.addEventListener("tp-link", heard)
  model.on("remove", () => { watcher.disconnect(); document.removeEventListener("keydown", slash); document.removeEventListener("tp-link", heard) })
  model.on("svg", draw)
  model.on("note", () => { note.textContent = model.note })
  model.on("selected", choose)
  draw()
  return stage
}
