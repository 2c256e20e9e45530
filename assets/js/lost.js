// The server went away: say so, ask for it once a second, and come back to the same address.  If it answers that
// the login is over, leave the page, so that nothing of it stays in sight.
if (!document.getElementById("tp-lost")) {
  const note = document.createElement("div")
  note.id = "tp-lost"
  note.setAttribute("role", "status")
  note.textContent = "The server is not answering. Training goes on; this page comes back by itself."
  document.body.append(note)
  const ask = () => fetch("topiary/icons/topiary.svg", {cache: "no-store"}).then(
    (answer) => {
      if (answer.ok) { location.reload() }
      else if (answer.status === 401) { location.replace(`ended?next=${encodeURIComponent(location.search.slice(1))}`) }
      else { setTimeout(ask, 1000) }
    },
    () => setTimeout(ask, 1000),
  )
  setTimeout(ask, 500)
}
