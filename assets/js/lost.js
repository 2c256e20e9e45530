// The server went away: say so, ask for it once a second, and come back to the same address.
if (!document.getElementById("tp-lost")) {
  const note = document.createElement("div")
  note.id = "tp-lost"
  note.setAttribute("role", "status")
  note.textContent = "The server is not answering. Training goes on; this page comes back by itself."
  document.body.append(note)
  const ask = () => fetch("topiary/icons/topiary.svg", {cache: "no-store"}).then(
    (answer) => answer.ok ? location.reload() : setTimeout(ask, 1000),
    () => setTimeout(ask, 1000),
  )
  setTimeout(ask, 500)
}
