"""The pages for visitors who are not logged in; each is self-contained, as nothing else is served to them."""

from topiary.app.views.html import render


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
    return render("login.login", action, sentence, viewers)


def draw_logout(action: str, *, everywhere: bool = False) -> str:
    """Return the page that asks whether to log out, as HTML.

    Parameters
    ----------
    action : str
        The address the form is sent to.
    everywhere : bool
        Whether the visitor may end all logins.
    """
    return render("login.logout", action, everywhere)


def draw_ended(why: str, back: str) -> str:
    """Return the page of a tab whose login has ended, as HTML.

    Parameters
    ----------
    why : str
        The reason, as the first half of a sentence.
    back : str
        The address of the view that was open.
    """
    return render("login.ended", why, back)
