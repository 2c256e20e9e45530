// The light or dark side goes to our own colours at once, and into a cookie so that the next page starts with it.
const side = cb_obj.dark_theme ? "dark" : "light"
document.documentElement.dataset.tp = side
document.cookie = `topiary_theme=${side};path=${location.pathname};max-age=31536000;samesite=lax`
