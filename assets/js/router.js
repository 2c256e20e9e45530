// The address bar, both ways: the view's query goes into the history, Back and Forward come back as messages.

let pushed = 0
let returned = -Infinity

export function render({model, view}) {
  document.getElementById("tp-skeleton")?.remove()
  const write = () => {
    const wanted = `?${model.query}`
    if (model.query === "" || location.search === wanted) { return }
    // The first address only fills in defaults; a burst on one page (a slider being dragged) is one step of the history.
    const burst = performance.now() - pushed < 700 && page_of(location.search) === page_of(wanted)
    // So is a film that plays, however long its snapshots take.
    const film = film_of(location.search) === film_of(wanted) ? topiary.playing : null
    const frame = film?.written === true
    if (film) { film.written = true }
    const answer = performance.now() - returned < 700 // Back led to what is not there any more
    if (pushed > 0 && page_of(location.search) !== page_of(wanted)) { begin() }
    const fill = pushed === 0 || burst || answer || frame
    history[fill ? "replaceState" : "pushState"]({}, "", wanted)
    pushed = performance.now()
  }
  const back = () => {
    returned = performance.now()
    model.send_msg({query: location.search})
  }
  const entitle = () => { if (model.heading) { document.title = model.heading } }
  addEventListener("popstate", back)
  model.on("remove", () => removeEventListener("popstate", back))
  model.on("query", write)
  model.on("msg:custom", write)
  model.on("heading", entitle)
  write()
  entitle()
  pushed = 1
  if (!document.cookie.includes("topiary_theme=")) { follow_system(view.model.document) }
  return document.createElement("div")
}

function begin() { // another page is read from its beginning, wherever the last one was left
  const frames = [...document.querySelectorAll("*")].map(each => each.shadowRoot?.querySelector(".main-content"))
  frames.find(Boolean)?.scrollTo(0, 0)
}

function page_of(query) {
  return new URLSearchParams(query).get("page")
}

function film_of(query) { // all but the snapshot
  const fields = new URLSearchParams(query)
  fields.delete("snapshot")
  return fields.toString()
}

// A first visit takes the side the system is on; from then on the cookie says it.
function follow_system(own) {
  const page = [...own.all_models].find((each) => each.class_name === "Page")
  if (page && matchMedia("(prefers-color-scheme: dark)").matches) { setTimeout(() => { page.data.dark_theme = true }, 0) }
}
