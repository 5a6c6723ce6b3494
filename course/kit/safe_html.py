"""A student's Markdown as HTML for Formgrader and the feedback page, without anything that a browser would run.

Formgrader shows a submission inside the instructor's own Jupyter session: a script in a written answer would
act there with the instructor's rights.
"""

from __future__ import annotations

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter

TAGS = {
    *("h1 h2 h3 h4 h5 h6 p br hr div span blockquote pre code a img em strong b i u del sub sup").split(),
    *("ul ol li dl dt dd table caption thead tbody tr th td details summary").split(),
}
ATTRIBUTES = {"*": ["class", "id", "title"], "a": ["href"], "img": ["src", "alt", "width", "height"], "th": ["style"],
              "td": ["style"]}  # fmt: skip
STYLES = CSSSanitizer(allowed_css_properties=["text-align"])
PROTOCOLS = {"http", "https", "mailto", "data"}  # pasted pictures are data: addresses
_plain = HTMLExporter()


@pass_context
def markdown2html(context, source: str) -> str:
    """nbconvert's filter of this name; what it lets through of HTML is cut to the tags above."""
    html = _plain.markdown2html(context, source)
    return bleach.clean(html, tags=TAGS, attributes=ATTRIBUTES, protocols=PROTOCOLS, strip=True, css_sanitizer=STYLES)
