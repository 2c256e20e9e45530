// The cursor over the snapshots of a run: a slider that stops at the snapshots that are kept, and what plays them.
//
// One request is under way at a time: the server answers when the page shows the snapshot, and the newest wish made
// meanwhile is sent then.  So a slow machine drops snapshots while the slider is dragged, and none while it plays.

const FRAME = 350 // milliseconds of a snapshot while the film plays, at least
const CALM = 1000 // the same for visitors who want less motion
const PATIENCE = 15000 // milliseconds without an answer after which the film stops
const still = matchMedia("(prefers-reduced-motion: reduce)")
const PLAY = "M8 5.5l11 6.5-11 6.5z", PAUSE = "M9 6v12M15 6v12"

function make(name, className, more = {}) {
  const made = document.createElement(name)
  made.className = className
  Object.assign(made, more)
  return made
}

function save({name, text}) {
  const link = make("a", "", {href: URL.createObjectURL(new Blob([text], {type: "text/html;charset=utf-8"})), download: name})
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10000)
}

export function render({model, view}) {
  topiary.adopt(view, [], ["film", "menu"])
  topiary.known(view.model)
  const bar = make("div", "fm-bar")
  bar.setAttribute("role", "group")
  bar.setAttribute("aria-label", "Film of the training")
  const button = (text, title, act) => make("button", "fm-button", {type: "button", textContent: text, title, onclick: act})
  const play = button("", "", () => toggle())
  play.classList.add("fm-play")
  const rail = make("div", "fm-rail")
  const track = make("div", "fm-picture")
  const slider = make("input", "fm-slider", {type: "range", min: 0, max: 1000, step: "any"})
  slider.setAttribute("aria-label", "Snapshot")
  rail.append(track, slider)
  const words = make("div", "fm-words")
  const place = make("b", "fm-place"), count = make("span", "fm-count")
  words.append(place, count)
  const largest = button("Largest change", "Go to the snapshot with the largest change since the one before; again: to the next largest", () => say("largest"))
  const keep = button("Save film", "Save the film as one HTML file that plays in any browser", () => say("film"))
  const menu = make("div", "tp-menu", {id: "film-menu", popover: "auto"})
  const first = button("To the first snapshot", "", () => go(0))
  const newest = button("To the newest snapshot", "", () => go(model.moments.length - 1))
  for (const each of [keep, first, newest]) { each.className = "mn-item"; each.dataset.shut = "" }
  menu.append(keep, first, newest)
  const more = button("Film", "Save the film, or go to its ends", null)
  more.classList.add("mn-opener")
  more.setAttribute("popovertarget", menu.id)
  const acts = make("div", "fm-acts")
  acts.append(largest, more, menu)
  bar.append(play, rail, words, acts)
  topiary.menus(bar)

  let playing = false, waiting = false, wish = null, sent = 0, watch = 0
  const target = () => wish ?? (waiting ? Number(bar.dataset.asked) : model.place) // where the cursor is, or will be
  const say = (name, more = {}) => { stop(); model.send_msg({do: name, ...more}) }
  const label = (at) => {
    const moment = model.moments[at]
    if (!moment) { return }
    const [, minibatch] = moment
    const name = `${model.step[0].toUpperCase()}${model.step.slice(1)} ${minibatch.toLocaleString("en")}`
    place.textContent = name
    count.textContent = model.note || `snapshot ${at + 1} of ${model.moments.length}`
    slider.setAttribute("aria-valuetext", `${name}, snapshot ${at + 1} of ${model.moments.length}`)
  }
  const point = (at) => { slider.value = model.moments[at]?.[2] ?? 0; label(at) }
  const ask = (at) => {
    if (!model.moments[at]) { return }
    if (waiting) { wish = at; return }
    waiting = true
    sent = performance.now()
    bar.dataset.asked = String(at)
    model.send_msg({do: "moment", value: model.moments[at][0]})
    clearTimeout(watch)
    watch = setTimeout(() => { waiting = false; stop() }, PATIENCE)
  }
  const step = () => {
    if (!playing) { return }
    if (model.place + 1 >= model.moments.length) { stop(); return }
    point(model.place + 1)
    ask(model.place + 1)
  }
  const answered = () => {
    waiting = false
    clearTimeout(watch)
    bar.dataset.shown = String(model.place)
    if (wish !== null) {
      const at = wish
      wish = null
      if (at !== model.place) { ask(at); return }
    }
    if (playing) { setTimeout(step, Math.max(0, (still.matches ? CALM : FRAME) - (performance.now() - sent))) }
  }
  const dress = () => {
    const name = playing ? "Pause" : "Play"
    play.innerHTML = `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="${playing ? PAUSE : PLAY}"/></svg>`
    play.title = playing ? "Pause the film" : "Play the film of the training"
    play.setAttribute("aria-label", name)
  }
  const stop = () => { if (playing) { playing = false; topiary.playing = null; dress() } }
  const toggle = () => {
    if (playing) { stop(); return }
    playing = true
    topiary.playing = {written: false}
    dress()
    if (model.place + 1 < model.moments.length) { step() } else { point(0); ask(0) }
  }
  const begin = () => { if (!playing && !still.matches && !bar.hidden && model.moments.length > 2) { toggle() } }
  const nearest = (value) => model.moments.reduce((best, moment, at) =>
    Math.abs(moment[2] - value) < Math.abs(model.moments[best][2] - value) ? at : best, 0)
  const go = (at) => {
    const inside = Math.max(0, Math.min(model.moments.length - 1, at))
    const before = target()
    stop()
    point(inside)
    if (inside !== before) { ask(inside) }
  }
  slider.addEventListener("input", () => go(nearest(Number(slider.value))))
  slider.addEventListener("keydown", (event) => {
    const from = target()
    const ways = {ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1,
      PageUp: from + 5, PageDown: from - 5, Home: 0, End: model.moments.length - 1}
    if (ways[event.key] === undefined || event.ctrlKey || event.metaKey || event.altKey) { return }
    event.preventDefault()
    go(ways[event.key])
  })
  for (const kind of ["pointerenter", "focusin"]) { // what comes next is read before it is asked for
    bar.addEventListener(kind, () => { if (model.moments.length > 1) { model.send_msg({do: "near"}) } })
  }
  const draw = () => {
    const some = model.moments.length > 0
    bar.hidden = !some
    track.innerHTML = model.track
    const alone = model.moments.length < 2
    for (const each of [play, slider, largest, more]) { each.disabled = alone }
    keep.disabled = alone || model.busy === "film"
    keep.textContent = model.busy === "film" ? "Making the film …" : "Save film"
    largest.disabled = alone || model.busy === "largest"
    largest.textContent = model.busy === "largest" ? "Measuring …" : "Largest change"
    if (!waiting && wish === null) { point(model.place) } else { label(target()) }
  }
  model.on("msg:custom", (message) => {
    if (message.answered) { answered() } else if (message.name) { save(message) } else if (message.play) { begin() }
  })
  for (const name of ["moments", "place", "track", "busy", "note", "step"]) { model.on(name, draw) }
  model.on("remove", () => { stop(); clearTimeout(watch) })
  dress()
  draw()
  return bar
}
