"""Security headers of every answer, and the Content-Security-Policy of a page.

A page may load scripts, styles, fonts and pictures from this server only.  An inline script runs only with the nonce
of its answer, which injected HTML cannot know.  ``unsafe-eval`` is needed by BokehJS, which compiles the texts of
CustomJS, CustomJSTicker and CustomJSTickFormatter with ``new Function``: the axes of the curves, the change between
light and dark, and the note about a lost connection.  ``unsafe-inline`` is allowed for styles only, because BokehJS
and Material add style elements and attributes at run time.
"""

import secrets

from tornado.httputil import HTTPHeaders
from tornado.web import OutputTransform

POLICY = "Content-Security-Policy"
ALWAYS = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
SEALED = "frame-ancestors 'none'; base-uri 'none'"
BARE = f"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; {SEALED}"  # of files, errors and forms
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
    """Adds the headers to every answer, including errors, redirects and refused websockets."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002, FBT001 - as its parent has it
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the headers, and remove the one that names the server and its version."""
        for name, value in ALWAYS.items():
            headers[name] = value
        headers.setdefault(POLICY, BARE)
        headers.pop("Server", None)
        return status_code, headers, chunk


def make_nonce() -> str:
    """Return a random nonce for the inline scripts of one answer."""
    return secrets.token_urlsafe(18)


def page_policy(nonce: str) -> str:
    """Return the policy of a page whose inline scripts carry a nonce."""
    return "; ".join(_PAGE).format(nonce=nonce)
