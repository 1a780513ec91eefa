"""Typesets the formulas of the site while it is built: a page arrives with them, and needs no script.

MathJax, from the package that also has its fonts, runs in the V8 engine of the package mini-racer.  What
Sphinx writes as TeX becomes HTML for the eye and MathML for screen readers.
"""

from __future__ import annotations

import atexit
import functools
import html
import json
import re
import shutil
from importlib import metadata
from pathlib import Path

from after_build import after_build, on_page
from markup import FOLDER
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
PARTS = (
    "startup.js",
    "core.js",
    "adaptors/liteDOM.js",
    "input/tex-full.js",
    "output/chtml.js",
    "output/chtml/fonts/tex.js",
)
FONTS = "output/chtml/fonts/woff-v2"
PACKAGES = ("base", "ams", "newcommand", "configmacros", "boldsymbol", "textmacros")
# MathJax is told not to look for a page to typeset.
BEFORE = "globalThis.MathJax = {loader: {load: []}, startup: {typeset: false, ready() {}}};"
FORMULA = re.compile(
    r'(<(span|div) class="(?:[^"]* )?math notranslate nohighlight"[^>]*>)\s*'
    r'(<span class="eqno">.*?</span>)?(.*?)(</\2>)',
    re.S,
)


@functools.cache
def engine(macros: str) -> MiniRacer:
    """MathJax, ready to typeset with the macros of the book, an object of JSON."""
    folder = mathjax()
    script = MiniRacer()
    script.eval(BEFORE)
    for part in PARTS:
        script.eval((folder / part).read_text(encoding="utf-8") + ";0")
    script.eval(f"const PACKAGES = {json.dumps(PACKAGES)}, MACROS = {macros};0")
    script.eval((FOLDER / "mathematics.js").read_text(encoding="utf-8") + ";0")
    return script


atexit.register(engine.cache_clear)  # V8's thread would keep the process from ending


def mathjax() -> Path:
    package = metadata.distribution("sphinx-mathjax-offline")
    return Path(str(package.locate_file("sphinx-mathjax-offline/static/mathjax")))


@functools.cache
def typeset(tex: str, display: bool, macros: str = "{}") -> str:
    """Return a formula as HTML: what is seen, which screen readers skip, and MathML, which they read.

    Raises ``ValueError`` with the reason for what is no TeX.
    """
    call = f"JSON.stringify(typeset({json.dumps(tex)}, {json.dumps(display)}))"
    try:
        seen, read = json.loads(engine(macros).eval(call))
    except JSEvalException as error:
        reason = str(error).partition("Error: ")[2].partition("\n")[0]
        raise ValueError(f"{tex!r} is no formula: {reason}") from None
    seen = seen.replace("<mjx-math ", '<mjx-math aria-hidden="true" ', 1)
    read = re.sub(r">\s+<", "><", read)
    inside = f'<mjx-assistive-mml display="{"block" if display else "inline"}">{read}</mjx-assistive-mml>'
    return seen.removesuffix("</mjx-container>") + inside + "</mjx-container>"


def with_formulas(app: Sphinx, body: str, place: str) -> str:
    """Return HTML with formulas in the place of their TeX."""
    macros = json.dumps(app.config.mathjax3_config["tex"]["macros"])

    def typeset_one(found: re.Match) -> str:
        opening, tag, number, text, closing = found.groups()
        tex = html.unescape(text).strip().removeprefix(r"\(").removesuffix(r"\)")
        tex = tex.removeprefix(r"\[").removesuffix(r"\]")
        try:
            return opening + (number or "") + typeset(tex, tag == "div", macros) + closing
        except ValueError as error:
            LOGGER.warning(str(error), location=place)
            return found[0]

    return FORMULA.sub(typeset_one, body)


def typeset_page(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Typeset a page, and drop the script that would have done it in the browser."""
    context["body"] = with_formulas(app, context.get("body", ""), pagename)
    context["script_files"] = [one for one in context["script_files"] if "mathjax" not in str(one).lower()]


def typeset_claim(app: Sphinx, page: str) -> str:
    """Typeset a claim's own page."""
    sheet = '<link rel="stylesheet" href="../_static/mathematics.css">\n</head>'
    return with_formulas(app, page, "c/").replace("</head>", sheet, 1)


def write_sheet(app: Sphinx) -> None:
    """Write the fonts and the rules of MathJax."""
    macros = json.dumps(app.config.mathjax3_config["tex"]["macros"])
    static = Path(app.outdir, "_static")
    sheet = engine(macros).eval("adaptor.textContent(chtml.styleSheet(page))")
    (static / "mathematics.css").write_text(sheet, encoding="utf-8")
    shutil.copytree(mathjax() / FONTS, static / "mathematics", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    app.add_css_file("mathematics.css")
    on_page(app, typeset_page)
    app.connect("claim-page", typeset_claim)
    after_build(app, write_sheet)
