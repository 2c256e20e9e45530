"""The pages for visitors who are not logged in; each is self-contained, as nothing else is served to them."""

from topiary.app.views.text import escape

_STYLE = """
:root{color-scheme:light dark;--ground:#F5F4EE;--card:#fff;--ink:#18241E;--muted:#5A6861;--edge:#8A958F;
--strong:#1B5E47;--on:#fff;--bad:#A3261B}
@media (prefers-color-scheme:dark){:root{--ground:#0F1512;--card:#161E1A;--ink:#E6ECE8;--muted:#9AA9A1;--edge:#6B7A72;
--strong:#62C79C;--on:#0F1512;--bad:#FF9A8F}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--ground);color:var(--ink);
font:16px/1.5 Inter,system-ui,sans-serif;padding:16px}
main{width:min(380px,100%);background:var(--card);border-radius:14px;padding:28px}
h1{font-size:22px;margin:0 0 6px}
p{margin:0 0 16px;color:var(--muted)}
main>:last-child{margin-bottom:0}
form+p{margin-top:20px}
a{color:var(--strong);font-weight:600}
.bad{color:var(--bad)}
label{display:block;margin-bottom:6px;font-weight:600}
input,button{width:100%;font:inherit;padding:10px 12px;border-radius:8px;border:1px solid var(--edge)}
input{background:transparent;color:inherit;margin-bottom:14px}
button{background:var(--strong);color:var(--on);border-color:transparent;font-weight:600;cursor:pointer}
:focus-visible{outline:3px solid var(--strong);outline-offset:2px}
"""


def draw_login(action: str, sentence: str = "", *, viewers: bool = False) -> str:
    """Return the login page as HTML.

    Parameters
    ----------
    action : str
        The address the form is sent to.
    sentence : str
        Why the last attempt failed, or empty.
    viewers : bool
        Whether there is a password for viewers as well as one for analysts.
    """
    viewers_note = " With the viewers' password you can look at everything and change nothing." if viewers else ""
    alert = f'<p class="bad" role="alert">{escape(sentence)}</p>' if sentence else ""
    return _draw_page(
        "Log in",
        f"<p>This server asks for a password.{viewers_note}</p>{alert}"
        f'<form method="post" action="{escape(action)}"><label for="password">Password</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>'
        '<button type="submit">Log in</button></form>',
    )


def draw_logout(action: str, *, everywhere: bool = False) -> str:
    """Return the page that asks whether to log out, as HTML.

    Parameters
    ----------
    action : str
        The address the form is sent to.
    everywhere : bool
        Whether the visitor may end all logins.
    """
    form = f'<form method="post" action="{escape(action)}">'
    more = (
        "<p>Or end every login of this server at once, in all browsers, of analysts and of viewers.</p>"
        f'{form}<button name="everywhere" value="1" type="submit">Log out everywhere</button></form>'
    )
    return _draw_page(
        "Log out",
        "<p>This ends the login in every tab of this browser.</p>"
        f'{form}<button type="submit">Log out</button></form>{more if everywhere else ""}',
    )


def draw_ended(why: str, back: str) -> str:
    """Return the page of a tab whose login has ended, as HTML.

    Parameters
    ----------
    why : str
        The reason, as the first half of a sentence.
    back : str
        The address of the view that was open.
    """
    return _draw_page("Logged out", f'<p role="status">{escape(why)}; <a href="{escape(back)}">log in again</a>.</p>')


def _draw_page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} · Topiary</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><main><h1>Topiary</h1>{body}</main></body></html>"
    )
