// Plays the film of a run in a file: every frame stands in it as SVG text.

const film = JSON.parse(document.getElementById("film").textContent)
const [tree, topics, play, slider, place, count] = ["tree", "topics", "play", "slider", "place", "count"].map(id => document.getElementById(id))
const still = matchMedia("(prefers-reduced-motion: reduce)")
const FRAME = 450 // milliseconds of a frame
const MOVE = 300 // milliseconds in which a box moves to its next place
let now = -1, playing = false, timer = 0

function parse(svg) {
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement
  picture.setAttribute("viewBox", `0 0 ${film.size[0]} ${film.size[1]}`) // the same scale in all frames
  picture.removeAttribute("width")
  picture.removeAttribute("height")
  return document.importNode(picture, true)
}

function places() {
  return new Map([...tree.querySelectorAll("[data-id]")].map(each => [each.dataset.id, each.getAttribute("transform")]))
}

function pixels(transform) { // of CSS, from those of SVG
  return transform.replace(/\(([-\d.]+) ([-\d.]+)\)/, "($1px,$2px)")
}

function move(before) {
  if (still.matches || before.size === 0) { return }
  for (const each of tree.querySelectorAll("[data-id]")) {
    const [from, to] = [before.get(each.dataset.id), each.getAttribute("transform")]
    if (from === undefined) {
      each.animate([{opacity: 0}, {opacity: 1}], MOVE)
    } else if (from !== to) {
      each.animate([{transform: pixels(from)}, {transform: pixels(to)}], {duration: MOVE, easing: "ease"})
    }
  }
}

function list(frame) {
  const most = Math.max(...film.frames.map(each => Math.max(...each.topics.map(topic => topic[2]))), 1e-9)
  topics.replaceChildren(...frame.topics.map(([, title, share, words]) => {
    const item = document.createElement("li")
    const name = document.createElement("b"), bar = document.createElement("i"), rest = document.createElement("span")
    name.textContent = `${title || "not there"} · ${(100 * share).toFixed(1)}%`
    bar.style.width = `${100 * share / most}%`
    rest.textContent = words
    item.append(name, bar, rest)
    return item
  }))
}

function show(at) {
  if (at === now) { return }
  now = at
  const frame = film.frames[at], before = places()
  tree.replaceChildren(parse(frame.svg))
  move(before)
  list(frame)
  document.querySelectorAll(".ff-now").forEach(line => line.setAttribute("transform", `translate(${film.places[at]} 0)`))
  const name = `${film.name} ${frame.step.toLocaleString("en")}`
  place.textContent = name
  count.textContent = `snapshot ${at + 1} of ${film.frames.length}`
  slider.value = film.places[at]
  slider.setAttribute("aria-valuetext", `${name}, ${count.textContent}`)
  document.body.dataset.shown = String(at)
}

function dress() {
  const path = playing ? "M9 6v12M15 6v12" : "M8 5.5l11 6.5-11 6.5z"
  play.innerHTML = `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="${path}"/></svg>`
  play.setAttribute("aria-label", playing ? "Pause" : "Play")
}

function set(on) {
  playing = on
  clearInterval(timer)
  dress()
  if (!on) { return }
  if (now + 1 >= film.frames.length) { show(0) }
  timer = setInterval(() => { if (now + 1 < film.frames.length) { show(now + 1) } else { set(false) } }, FRAME)
}

const nearest = (value) => film.places.reduce((best, each, at) =>
  Math.abs(each - value) < Math.abs(film.places[best] - value) ? at : best, 0)
const go = (at) => { set(false); show(Math.max(0, Math.min(film.frames.length - 1, at))) }
play.addEventListener("click", () => set(!playing))
slider.addEventListener("input", () => go(nearest(Number(slider.value))))
slider.addEventListener("keydown", (event) => {
  const ways = {ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1,
    PageUp: now + 5, PageDown: now - 5, Home: 0, End: film.frames.length - 1}
  if (ways[event.key] === undefined) { return }
  event.preventDefault()
  go(ways[event.key])
})
show(0)
set(!still.matches)
