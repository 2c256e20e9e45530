// Until the page is ready: if a script did not arrive, load the page again, because without it nothing would appear.

{
  const key = "topiary-loads" // of this tab
  const most = 3 // reloads in a row
  let lacks = false // whether a script did not arrive
  const say = (text) => {
    document.querySelector("#tp-preview")?.remove()
    const line = document.querySelector("#tp-skeleton p")
    if (line) { line.textContent = text }
  }
  setTimeout(() => say("This takes longer than usual. If the server has stopped, start it again and reload."), 20000)
  addEventListener("error", (event) => {
    if (event.target.localName !== "script" || !document.querySelector("#tp-skeleton")) { return }
    lacks = true
    window.stop() // else the scripts after it fail
    const loads = Number(sessionStorage.getItem(key) ?? 0)
    if (loads >= most) {
      sessionStorage.removeItem(key)
      say("A part of this page did not arrive. Check the connection to the server, and reload.")
      return
    }
    sessionStorage.setItem(key, String(loads + 1))
    say("A part of this page did not arrive; it loads again …")
    setTimeout(() => location.reload(), 500 * (loads + 1))
  }, {capture: true}) // errors of loading do not bubble
  addEventListener("load", () => { if (!lacks) { sessionStorage.removeItem(key) } })
}
