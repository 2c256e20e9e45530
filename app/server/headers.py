"""Headers of every answer: nobody frames it, guesses its kind, or is told where its reader was before.

A page of ours may load scripts, styles, fonts and pictures from this server and from nowhere else, and a script that
stands in the page itself runs only with the nonce of that answer, which nobody can know who puts HTML into a page.
``unsafe-eval`` has to stay: BokehJS makes functions of the texts of CustomJS, CustomJSTicker and CustomJSTickFormatter
(the axes of the curves, what is done when the connection is lost), and Panel runs what belongs to them the same way.
``unsafe-inline`` stays for styles only, which BokehJS and Material write into the page as it runs.
"""

import secrets

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

POLICY = "Content-Security-Policy"
ALWAYS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
SEALED = "frame-ancestors 'none'; base-uri 'none'"
BARE = f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; {SEALED}"  # files, errors, forms
_PAGE = (
    "default-src 'none'",
    "script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "object-src 'none'",
    SEALED,
)


class SafeHeaders(OutputTransform):
    """Adds the headers to whatever a handler answers, errors and refused websockets among them."""

    def __init__(self, request: HTTPServerRequest) -> None:
        """Keep nothing of the request; every answer gets the same."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002, FBT001 - as its parent has it
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add what is missing, and leave out which version of which server this is."""
        for name, value in ALWAYS.items():
            headers[name] = value
        headers.setdefault(POLICY, BARE)
        headers.pop("Server", None)
        return status_code, headers, chunk


def make_nonce() -> str:
    """Return what scripts of one answer prove themselves with."""
    return secrets.token_urlsafe(18)


def page_policy(nonce: str) -> str:
    """Return the policy of a page whose own scripts have a nonce."""
    return "; ".join(_PAGE).format(nonce=nonce)
