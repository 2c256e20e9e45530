// The map of all documents: points by WebGL, captions beside them that lead to where their topics are, and a line drawn
// around documents to select them.
//
// Points come over HTTP as 16-bit x, y and topic (or another code by which they are coloured), in random order.  So a
// part of them is a sample, which is what is drawn while the map moves; all are drawn when it rests.  Where there is no
// WebGL, the points are painted into a picture, one dot each.  Coordinates are 0 to 1 from the lower left corner, here
// and in messages.

const MOVING = 60000 // points drawn while the map moves
const REST = 120 // milliseconds without a move after which all are drawn
const GRID = 256 // cells along each side, in which the point under the pointer is sought
const FULL = 65535 // of a coordinate
const NONE = 0x7fff, SELECTED = 0x8000 // of a code: no topic; added to it, selected
const NEAR = 12 // pixels to the point under the pointer, at most
const HUES = 7
const CLOSER = 1.8, CLOSEST = 4.5 // zoom from which captions are of the next layer below, and of the one after
const GUTTER = 158 // pixels at each side for captions, on a map that is as wide as this at least
const WIDE = 640
const MOST = 24, GAP = 8, HEAD = 52 // captions, pixels between them, and pixels above those on the left
const FAR = 0.8, CLOSE = 400 // least and largest zoom
const COMMAND = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl"
const textures = {width: 256, rows: 128} // a colour for each code

const VERTEX = `#version 300 es
in vec2 place; in uint topic; in uint chosen;
uniform vec2 scale, shift; uniform float size, alpha, some, fresh, above; uniform vec3 mark; uniform sampler2D colours;
out vec4 colour; flat out float across;
void main() {
  bool on = some > .5 && (fresh > .5 ? chosen > 0u : (topic & ${SELECTED}u) != 0u);
  int code = int(topic & ${NONE}u);
  vec3 own = texelFetch(colours, ivec2(code & 255, code >> 8), 0).rgb;
  gl_Position = on == above > .5 ? vec4(place * scale + shift, 0., 1.) : vec4(2., 2., 2., 1.);
  colour = on ? vec4(mark, 1.) : vec4(own, some > .5 ? alpha * .6 : alpha);
  across = on ? size * 1.6 : size;
  gl_PointSize = across;
}`
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour; flat in float across; out vec4 pixel;
void main() {
  float a = colour.a;
  if (across > 2.5) { a *= 1. - smoothstep(1. - 2. / across, 1., length(gl_PointCoord - .5) * 2.); }
  pixel = vec4(colour.rgb * a, a);
}`

function make(name, className, more = {}) {
  const made = document.createElement(name)
  made.className = className
  Object.assign(made, more)
  return made
}

const svg = (name, attributes = {}) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name)
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value))
  return made
}

const clamp = (value, least, most) => Math.max(least, Math.min(most, value))

function spread(wanted, heights, low, high) { // places that are in their order, do not overlap, and move as little as they can
  const blocks = []
  let before = 0
  wanted.forEach((at, i) => {
    blocks.push({n: 1, sum: at - before})
    before += heights[i] + GAP
    for (let last; (last = blocks.at(-1)) && blocks.length > 1 && blocks.at(-2).sum / blocks.at(-2).n > last.sum / last.n;) {
      blocks.pop()
      blocks.at(-1).n += last.n
      blocks.at(-1).sum += last.sum
    }
  })
  const free = blocks.flatMap(({n, sum}) => Array(n).fill(clamp(sum / n, low, Math.max(low, high - before + GAP))))
  before = 0
  return free.map((at, i) => { const place = at + before; before += heights[i] + GAP; return place })
}

// ------------------------------------------------------------------ points

class Points {
  constructor(buffer) {
    this.n = buffer.byteLength / 6
    this.places = new Uint16Array(buffer, 0, 2 * this.n)
    this.topics = new Uint16Array(buffer, 4 * this.n, this.n)
    this.chosen = new Uint8Array(this.n)
    this.count = 0 // of the chosen
    const cell = (i) => (this.places[2 * i + 1] >> 8) * GRID + (this.places[2 * i] >> 8)
    this.starts = new Uint32Array(GRID * GRID + 1) // of each cell, in `members`
    for (let i = 0; i < this.n; i++) { this.starts[cell(i) + 1]++ }
    for (let i = 0; i < GRID * GRID; i++) { this.starts[i + 1] += this.starts[i] }
    const ends = this.starts.slice()
    this.members = new Uint32Array(this.n)
    for (let i = 0; i < this.n; i++) { this.members[ends[cell(i)]++] = i }
  }

  nearest(x, y, reach) { // the point nearest to a place, -1 if none is within reach
    const X = x * FULL, Y = y * FULL, R = reach * FULL
    const cell = (value) => clamp(value >> 8, 0, GRID - 1)
    let best = R * R, found = -1
    for (let row = cell(Y - R); row <= cell(Y + R); row++) {
      for (let at = this.starts[row * GRID + cell(X - R)]; at < this.starts[row * GRID + cell(X + R) + 1]; at++) {
        const i = this.members[at], dx = this.places[2 * i] - X, dy = this.places[2 * i + 1] - Y
        if (dx * dx + dy * dy < best) { best = dx * dx + dy * dy; found = i }
      }
    }
    return found
  }

  choose(polygon, camera) { // marks what a line encloses on screen, by painting its inside
    const {width, height} = camera
    const paint = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true})
    paint.beginPath()
    for (const [x, y] of polygon) { paint.lineTo(...camera.screen(x, y)) }
    paint.fill("evenodd")
    const inside = paint.getImageData(0, 0, width, height).data
    const [left, low] = camera.screen(0, 0), step = camera.k * camera.side / FULL
    this.count = 0
    for (let i = 0; i < this.n; i++) {
      const x = left + this.places[2 * i] * step | 0, y = low - this.places[2 * i + 1] * step | 0
      const on = x >= 0 && y >= 0 && x < width && y < height && inside[(y * width + x) * 4 + 3] > 127
      this.chosen[i] = on ? 1 : 0
      this.count += this.chosen[i]
    }
  }

  stands_out(i) { return this.count > 0 ? this.chosen[i] > 0 : this.topics[i] >= SELECTED }

  clear() {
    this.chosen.fill(0)
    this.count = 0
  }
}

// ------------------------------------------------------------------ camera

class Camera {
  constructor() { Object.assign(this, {k: 1, x: .5, y: .5, width: 1, height: 1, side: 1, map: [1, 1]}) }
  resize(width, height) { // the whole map fits in, with a margin
    const [w, h] = this.map
    Object.assign(this, {width, height, side: Math.max(1, Math.min((width - 20) / Math.max(w, .01), (height - 40) / Math.max(h, .01)))})
  }
  fit(map) {
    Object.assign(this, {map, x: map[0] / 2, y: map[1] / 2, k: 1})
    this.resize(this.width, this.height)
  }
  get zoom() { return this.k } // 1 when the whole map is seen
  screen(x, y) { return [(x - this.x) * this.k * this.side + this.width / 2, this.height / 2 - (y - this.y) * this.k * this.side] }
  place(a, b) { return [(a - this.width / 2) / this.k / this.side + this.x, (this.height / 2 - b) / this.k / this.side + this.y] }
  pan(dx, dy) {
    this.x = clamp(this.x - dx / this.k / this.side, -.2, 1.2)
    this.y = clamp(this.y + dy / this.k / this.side, -.2, 1.2)
  }
  turn(factor, a = this.width / 2, b = this.height / 2) { // zooms; what lies at a, b stays there
    const [x, y] = this.place(a, b)
    this.k = clamp(this.k * factor, FAR, CLOSE)
    const [x2, y2] = this.place(a, b)
    this.x += x - x2
    this.y += y - y2
  }
}

// ------------------------------------------------------- two ways of drawing

class Drawing { // by WebGL
  constructor(gl) {
    this.gl = gl
    const shader = (kind, text) => {
      const made = gl.createShader(kind)
      gl.shaderSource(made, text)
      gl.compileShader(made)
      return made
    }
    const program = gl.createProgram()
    gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX))
    gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT))
    ;["place", "topic", "chosen"].forEach((name, at) => gl.bindAttribLocation(program, at, name))
    gl.linkProgram(program)
    gl.useProgram(program)
    this.uniforms = Object.fromEntries(["scale", "shift", "size", "alpha", "some", "fresh", "above", "mark"].map(name => [name, gl.getUniformLocation(program, name)]))
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
    this.buffers = [0, 1, 2].map(() => gl.createBuffer())
    this.texture = gl.createTexture()
  }

  load(points) {
    const {gl} = this
    const kinds = [[points.places, 2, gl.UNSIGNED_SHORT], [points.topics, 1, gl.UNSIGNED_SHORT], [points.chosen, 1, gl.UNSIGNED_BYTE]]
    kinds.forEach(([values, each, kind], at) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[at])
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW)
      gl.enableVertexAttribArray(at)
      if (at === 0) { gl.vertexAttribPointer(at, each, kind, true, 0, 0) } else { gl.vertexAttribIPointer(at, each, kind, 0, 0) }
    })
  }

  mark(points) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[2])
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, points.chosen)
  }

  colour(bytes, mark) {
    const {gl} = this
    this.marked = [...mark.slice(0, 3)].map(value => value / 255)
    gl.bindTexture(gl.TEXTURE_2D, this.texture)
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, textures.width, textures.rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
  }

  paint(points, camera, shown, {size, alpha, some}) {
    const {gl, uniforms} = this
    const x = 2 * camera.k * camera.side / camera.width, y = 2 * camera.k * camera.side / camera.height
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height)
    gl.clearColor(0, 0, 0, 0)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.uniform2f(uniforms.scale, x, y)
    gl.uniform2f(uniforms.shift, -camera.x * x, -camera.y * y)
    gl.uniform1f(uniforms.size, size * gl.canvas.width / camera.width)
    gl.uniform1f(uniforms.alpha, alpha)
    gl.uniform1f(uniforms.some, some ? 1 : 0)
    gl.uniform1f(uniforms.fresh, points.count > 0 ? 1 : 0)
    gl.uniform3fv(uniforms.mark, this.marked)
    for (const above of some ? [0, 1] : [0]) { // what is selected last, above the others
      gl.uniform1f(uniforms.above, above)
      gl.drawArrays(gl.POINTS, 0, shown)
    }
  }
}

class Painting { // dot by dot, without WebGL
  constructor(context) { this.context = context }
  load() {}
  mark() {}
  colour(bytes, mark) { Object.assign(this, {colours: new Uint32Array(bytes.buffer), marked: new Uint32Array(mark.slice().buffer)[0]}) }

  paint(points, camera, shown, {size, some}) {
    const {canvas} = this.context, {width, height} = canvas
    const image = this.context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer)
    const ratio = width / camera.width, [left, low] = camera.screen(0, 0).map(value => value * ratio)
    const step = camera.k * camera.side * ratio / FULL
    for (const above of some ? [false, true] : [false]) {
      const dot = Math.max(1, Math.round(size * ratio * (above ? 1.3 : .8)))
      for (let i = 0; i < shown; i++) {
        const x = left + points.places[2 * i] * step - dot / 2 | 0, y = low - points.places[2 * i + 1] * step - dot / 2 | 0
        if (some && points.stands_out(i) !== above || x < 0 || y < 0 || x + dot > width || y + dot > height) { continue }
        const own = this.colours[points.topics[i] & NONE], colour = above ? this.marked : some ? own & 0x66ffffff : own
        for (let row = 0; row < dot; row++) { pixels.fill(colour, (y + row) * width + x, (y + row) * width + x + dot) }
      }
    }
    this.context.putImageData(image, 0, 0)
  }
}

// ---------------------------------------------------------------- component

export function render({model, view}) {
  topiary.adopt(view, model.sheets)
  topiary.known(view.model)
  const stage = make("div", "dm-stage")
  stage.setAttribute("role", "group")
  stage.setAttribute("aria-label", "Map of all documents")
  const canvas = make("canvas", "dm-points", {tabIndex: 0})
  canvas.setAttribute("role", "application")
  canvas.setAttribute("aria-label", "Documents as points. Arrows move the map, plus and minus zoom, 0 shows all, L begins a line around documents, S selects what is on screen, Escape clears the selection.")
  const captions = make("div", "dm-captions")
  captions.setAttribute("role", "listbox")
  captions.setAttribute("aria-label", "Topics of the map, with their documents")
  const lines = svg("svg", {class: "dm-line", "aria-hidden": "true"}), path = svg("path"), ring = svg("circle", {class: "dm-ring", r: 8, hidden: ""})
  const leaders = svg("g")
  lines.append(leaders, path, ring)
  const more = make("button", "dm-more", {type: "button", hidden: true, onclick: () => {
    const list = topiary.seek("[popovertarget=topic-menu]")
    list?.focus()
    list?.click()
  }})
  const tip = make("div", "dm-tip", {hidden: true})
  const live = make("p", "dm-live")
  live.setAttribute("aria-live", "polite")
  const tools = make("div", "dm-tools")
  stage.append(canvas, lines, tools, captions, more, tip, live)

  const camera = new Camera()
  let points = null, drawing = null, labels = [], wanted = false, still = true, timer = 0, hover = -1, asked = 0, gone = false

  // --------------------------------------------------------------- drawing

  const begin = () => { // anew after the browser took the graphics memory away
    const gl = model.raster ? null : canvas.getContext("webgl2", {antialias: false, premultipliedAlpha: true, powerPreference: "low-power"})
    drawing = gl ? new Drawing(gl) : new Painting(canvas.getContext("2d"))
    stage.dataset.drawn = gl ? "webgl" : "raster"
    colour()
    if (points) { drawing.load(points) }
  }
  const read = document.createElement("canvas").getContext("2d", {willReadFrequently: true})
  const resolve = (name) => { // a colour of the style sheets as four bytes
    tip.style.color = `var(${name})`
    read.fillStyle = getComputedStyle(tip).color
    tip.style.color = ""
    read.clearRect(0, 0, 1, 1)
    read.fillRect(0, 0, 1, 1)
    return read.getImageData(0, 0, 1, 1).data
  }
  const colour = () => {
    if (!drawing) { return } // `begin` calls this again
    const colours = ["--tp-strong-line", ...Array.from({length: HUES}, (_, at) => `--tp-hue-${at + 1}`)].map(resolve)
    const bytes = new Uint8Array(4 * textures.width * textures.rows)
    for (let code = 0; code <= NONE; code++) { bytes.set(colours[model.hues[code] ?? 0] ?? colours[0], 4 * code) }
    drawing.colour(bytes, resolve("--tp-amber"))
  }
  const look = () => { // sizes and opacities, for few, many and very many points
    const at = points.n < 30000 ? 0 : points.n < 200000 ? 1 : 2
    const grown = Math.pow(Math.max(camera.zoom, 1), .4)
    const some = points.count > 0 || model.selected >= 0
    return {size: Math.min(9, [3.4, 2.2, 1.5][at] * grown), alpha: Math.min(.85, [.7, .45, .3][at] * grown), some}
  }
  const paint = () => {
    wanted = false
    if (!points || !drawing || gone || camera.width < 2) { return }
    const shown = still ? points.n : Math.min(points.n, MOVING)
    drawing.paint(points, camera, shown, look())
    place()
    Object.assign(stage.dataset, {shown, zoom: camera.zoom.toFixed(3)})
  }
  const draw = (moving = false) => {
    still = !moving
    clearTimeout(timer)
    if (moving) { timer = setTimeout(draw, REST) }
    if (!wanted) { wanted = true; requestAnimationFrame(paint) }
  }
  const fit = () => { camera.fit(model.frame); draw() }

  // -------------------------------------------------------------- captions

  const write = () => {
    labels = model.captions.map(caption => {
      const button = make("button", "dm-caption", {type: "button", title: caption.title, onclick: () => model.send_msg({do: "select", id: caption.id})})
      button.setAttribute("role", "option")
      button.style.setProperty("--hue", caption.hue > 0 ? `var(--tp-hue-${caption.hue})` : "var(--tp-strong-line)")
      const count = `${caption.documents.toLocaleString("en")} document${caption.documents === 1 ? "" : "s"}`
      button.append(make("b", "", {textContent: caption.title}), make("small", "", {textContent: count}))
      return {...caption, button, height: 0, shown: true, line: svg("path"), dot: svg("circle", {r: 3})}
    })
    captions.replaceChildren(...labels.map(label => label.button))
    for (const label of labels) { label.height = label.button.offsetHeight }
    leaders.replaceChildren(...labels.flatMap(label => [label.line, label.dot]))
    for (const label of labels) { show(label, false) }
    mark()
  }
  const show = (label, on) => {
    label.shown = on
    label.button.hidden = !on
    for (const part of [label.line, label.dot]) { part.toggleAttribute("hidden", !on) }
  }
  const mark = () => { // those of the topics that are selected; the Tab key stops at one
    for (const {id, button, line, dot} of labels) {
      const on = model.chosen.includes(id)
      button.setAttribute("aria-selected", String(on))
      for (const part of [line, dot]) { part.classList.toggle("dm-on", on) }
    }
  }
  const stop = () => { // the Tab key stops at one caption, and arrows walk on
    const seen = labels.filter(label => label.shown), active = view.shadow_el.activeElement
    const one = seen.find(({button}) => button === active) ?? seen.find(({id}) => model.chosen.includes(id)) ?? seen[0]
    for (const label of seen) { label.button.tabIndex = label === one ? 0 : -1 }
  }
  const place = () => { // in gutters, each at the height of its topic as far as there is room; on phones in a row
    const isWide = !stage.classList.contains("dm-narrow"), {width, height} = camera
    const down = camera.zoom < CLOSER ? 0 : camera.zoom < CLOSEST ? 1 : 2, layer = Math.max(1, model.layer - down)
    const inside = label => label.at[0] >= 0 && label.at[1] >= 0 && label.at[0] <= width && label.at[1] <= height
    const seen = []
    for (const label of labels) {
      label.at = camera.screen(label.x, label.y)
      if (label.layer === layer && inside(label)) { seen.push(label) } else if (label.shown) { show(label, false) }
    }
    const sides = [[], []], room = [height - HEAD - 40, height - 60]
    for (const label of seen) { // those with most documents first
      const own = label.at[0] < width / 2 ? 0 : 1
      const side = [own, 1 - own].find(each => room[each] >= label.height + GAP)
      const fits = !isWide || side !== undefined && sides[0].length + sides[1].length < MOST
      if (fits && isWide) { sides[side].push(label); room[side] -= label.height + GAP }
      if (fits !== label.shown) { show(label, fits) }
    }
    const left = canvas.offsetLeft
    sides.forEach((own, side) => {
      own.sort((a, b) => a.at[1] - b.at[1])
      const tops = spread(own.map(label => label.at[1] - label.height / 2), own.map(label => label.height), side ? 8 : HEAD, height - (side ? 36 : 34))
      own.forEach((label, i) => {
        const [x, y] = label.at, from = side ? left + width + 2 : left - 2, top = Math.round(tops[i])
        label.button.style.transform = `translateY(${top}px)`
        label.button.classList.toggle("dm-right", side === 1)
        label.line.setAttribute("d", `M${from} ${top + 11}L${(left + x).toFixed(1)} ${y.toFixed(1)}`)
        label.dot.setAttribute("cx", left + x)
        label.dot.setAttribute("cy", y)
      })
    })
    const lacking = isWide ? seen.filter(label => !label.shown).length : 0
    captions.hidden = !seen.length
    more.hidden = lacking === 0
    more.textContent = `${lacking} more topic${lacking === 1 ? "" : "s"}`
    stop()
    point_out(rung)
  }
  captions.addEventListener("keydown", (event) => {
    const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key]
    const seen = labels.filter(label => label.shown).map(label => label.button)
      .sort((a, b) => a.offsetLeft - b.offsetLeft || a.getBoundingClientRect().top - b.getBoundingClientRect().top)
    const next = step && seen[(seen.indexOf(event.target.closest("button")) + step + seen.length) % seen.length]
    if (!next) { return }
    event.preventDefault()
    next.focus()
    stop()
  })

  // a document of the table is ringed while the pointer or the focus is on its row
  let rung = -1
  const point_out = (point) => {
    rung = points && point < points.n ? point : -1
    ring.toggleAttribute("hidden", rung < 0)
    if (rung < 0) { return }
    const [x, y] = camera.screen(points.places[2 * rung] / FULL, points.places[2 * rung + 1] / FULL)
    ring.setAttribute("cx", canvas.offsetLeft + x)
    ring.setAttribute("cy", y)
  }
  const hear = ({detail}) => point_out(detail)
  document.addEventListener("topiary-point", hear)

  // ------------------------------------------------------------- selection

  const tell = () => { live.textContent = points === null ? "" : model.note }
  const enclose = (corners) => {
    const polygon = corners.map(([a, b]) => camera.place(a, b))
    points.choose(polygon, camera)
    drawing.mark(points)
    stage.dataset.enclosed = points.count
    draw(true) // all points follow: without a graphics card they take longer than the server's answer
    model.send_msg({do: "lasso", polygon: polygon.map(([x, y]) => [Number(x.toFixed(5)), Number(y.toFixed(5))])})
  }
  const frame = () => { if (points) { enclose([[0, 0], [camera.width, 0], [camera.width, camera.height], [0, camera.height]]) } }
  const clear = () => {
    if (!points) { return }
    points.clear()
    drawing.mark(points)
    draw()
    model.send_msg({do: "lasso", polygon: []})
  }

  // ----------------------------------------------------------------- tools

  const step = (factor) => () => { camera.turn(factor); draw(true) }
  const [, , , lasso] = [
    ["+", "Zoom in", `${COMMAND} + wheel, or +`, step(1.4)],
    ["−", "Zoom out", `${COMMAND} + wheel, or −`, step(1 / 1.4)],
    ["⤢", "Show the whole map", "0", fit],
    ["◌", "Draw a line around documents", "L, or Shift and drag", () => arm(lasso.getAttribute("aria-pressed") !== "true")],
  ].map(([text, label, keys, act]) => {
    const button = make("button", "dm-tool", {type: "button", textContent: text, title: `${label} (${keys})`, onclick: act})
    button.setAttribute("aria-label", label)
    tools.append(button)
    return button
  })
  const arm = (on) => {
    lasso.setAttribute("aria-pressed", String(on))
    stage.classList.toggle("dm-drawing", on)
  }
  arm(false)

  // --------------------------------------------------------------- pointer

  let from = null, corners = null, moved = 0
  const point = (event) => { // asks for the title of the document under the pointer
    const found = points ? points.nearest(...camera.place(event.offsetX, event.offsetY), NEAR / camera.k / camera.side) : -1
    const right = canvas.offsetLeft + event.offsetX > stage.clientWidth - 310 // where there is no room on that side
    tip.style.transform = `translate(${canvas.offsetLeft + event.offsetX + (right ? -14 : 14)}px,${event.offsetY + 14}px)${right ? " translateX(-100%)" : ""}`
    if (found === hover) { return }
    hover = found
    tip.hidden = true
    clearTimeout(asked)
    if (found >= 0) { asked = setTimeout(() => model.send_msg({do: "hover", point: found}), 60) }
  }
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) { return }
    event.preventDefault()
    camera.turn(Math.exp(-clamp(event.deltaY, -200, 200) * .0025), event.offsetX, event.offsetY)
    draw(true)
  }, {passive: false})
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !points) { return }
    canvas.setPointerCapture(event.pointerId)
    hover = -1
    tip.hidden = true
    moved = 0
    if (event.shiftKey || lasso.getAttribute("aria-pressed") === "true") { corners = [[event.offsetX, event.offsetY]] } else { from = [event.offsetX, event.offsetY] }
  })
  canvas.addEventListener("pointermove", (event) => {
    const here = [event.offsetX, event.offsetY]
    if (corners) {
      corners.push(here)
      path.setAttribute("d", `M${corners.map(corner => corner.join()).join("L")}Z`)
    } else if (from) {
      camera.pan(here[0] - from[0], here[1] - from[1])
      moved += Math.abs(here[0] - from[0]) + Math.abs(here[1] - from[1])
      from = here
      draw(true)
    } else { point(event) }
  })
  const finish = (event) => {
    if (corners) {
      path.removeAttribute("d")
      if (event.type === "pointerup" && corners.length > 3) { enclose(corners) }
      arm(false)
    } else if (from && event.type === "pointerup" && moved < 4) {
      const found = points.nearest(...camera.place(event.offsetX, event.offsetY), NEAR / camera.k / camera.side)
      if (found >= 0) { model.send_msg({do: "open", point: found}) }
    }
    from = corners = null
  }
  canvas.addEventListener("pointerup", finish)
  canvas.addEventListener("pointercancel", finish)
  canvas.addEventListener("pointerleave", () => { hover = -1; tip.hidden = true; clearTimeout(asked) })

  const pan = (dx, dy) => () => { camera.pan(dx, dy); draw(true) }
  const keys = {ArrowLeft: pan(60, 0), ArrowRight: pan(-60, 0), ArrowUp: pan(0, 60), ArrowDown: pan(0, -60),
    "+": step(1.4), "=": step(1.4), "-": step(1 / 1.4), "0": fit, l: () => arm(true), s: frame, Escape: () => { arm(false); clear() }}
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) { return }
    event.preventDefault()
    keys[event.key]()
  })

  // ------------------------------------------------------------ life cycle

  canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); gone = true })
  canvas.addEventListener("webglcontextrestored", () => { gone = false; begin(); draw() })
  const watch = new ResizeObserver(() => {
    const ratio = Math.min(devicePixelRatio || 1, 2)
    stage.classList.toggle("dm-narrow", stage.clientWidth < WIDE)
    camera.resize(canvas.clientWidth, canvas.clientHeight)
    path.setAttribute("transform", `translate(${canvas.offsetLeft})`)
    if (camera.width > 1 && labels.some(label => label.height === 0)) { write() } // were written while the page was hidden
    canvas.width = Math.max(1, Math.round(camera.width * ratio))
    canvas.height = Math.max(1, Math.round(camera.height * ratio))
    draw()
  })
  const theme = new MutationObserver(() => { colour(); draw() })
  const fetch_points = async () => {
    const url = model.url
    stage.classList.toggle("dm-empty", url === "")
    if (url === "") { return }
    const answer = await fetch(url).catch(() => null) // null while the server is away
    if (url !== model.url) { return }
    if (!answer?.ok) { live.textContent = "The points could not be loaded; load the page again."; return }
    const bytes = await answer.arrayBuffer()
    if (url !== model.url) { return }
    const first = points === null
    points = new Points(bytes)
    drawing?.load(points)
    tell()
    if (first) { fit() } else { draw() }
  }
  model.on("url", fetch_points)
  model.on("hues", () => { colour(); draw() })
  model.on("captions", () => { write(); draw() })
  model.on("chosen", () => { mark(); draw() })
  model.on("frame", fit)
  model.on("note", tell)
  model.on("selected", () => {
    if (!points) { return }
    if (model.selected < 0 && points.count > 0) { points.clear(); drawing.mark(points) }
    draw()
  })
  model.on("msg:custom", (message) => {
    if (message.point === hover && message.text) { tip.textContent = message.text; tip.hidden = false }
  })
  model.on("remove", () => {
    document.removeEventListener("topiary-point", hear)
    watch.disconnect()
    theme.disconnect()
    clearTimeout(timer)
    clearTimeout(asked)
  })
  requestAnimationFrame(() => { // the style sheets apply once the component is in the page
    begin()
    write()
    watch.observe(stage)
    watch.observe(canvas) // which is hidden while there is no map
    theme.observe(document.documentElement, {attributes: true, attributeFilter: ["data-tp"]})
    fetch_points()
  })
  return stage
}
