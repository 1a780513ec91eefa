"""Typesets the formulas of the site while it is built: a page arrives with them, and needs no script.

MathJax, from the package that also has its fonts, runs in the V8 engine of the package mini-racer.  What
Sphinx writes as TeX becomes HTML for the eye and MathML for screen readers; where no formula can stand, in
titles, previews and the index of the search, it becomes plain characters.
"""

from __future__ import annotations

import atexit
import html
import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path

from docutils import nodes
from look import FOLDER, Context, after_build, on_page, remembered
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
PARTS = (
    *("startup.js", "core.js", "adaptors/liteDOM.js", "input/tex-full.js"),
    *("output/chtml.js", "output/chtml/fonts/tex.js"),
)
MATHJAX = "sphinx-mathjax-offline"
FONTS = "output/chtml/fonts/woff-v2"
PROGRAM = FOLDER / "mathematics.js"
PACKAGES = ("base", "ams", "newcommand", "configmacros", "boldsymbol", "textmacros")
# MathJax is told not to look for a page to typeset.
BEFORE = "globalThis.MathJax = {loader: {load: []}, startup: {typeset: false, ready() {}}};"
CLASSES = "math notranslate nohighlight"  # by which Sphinx marks a formula
FORMULA = re.compile(
    rf'(<(span|div) class="(?:[^"]* )?{CLASSES}"[^>]*>)\s*(<span class="eqno">.*?</span>)?(.*?)(</\2>)', re.S
)
# What only MathJax, and pages that are XML, read of MathML.
UNREAD = re.compile(r' (?:data-mjx-[a-z]+|stretchy|fence|xmlns)="[^"]*"')

CHARACTERS = """
alpha α beta β gamma γ delta δ varepsilon ε epsilon ε zeta ζ eta η theta θ kappa κ lambda λ mu μ nu
ν xi ξ pi π rho ρ sigma σ tau τ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Sigma
Σ Phi Φ ell ℓ nabla ∇ partial ∂ infty ∞ sum ∑ int ∫ le ≤ ge ≥ ne ≠ neq ≠ approx ≈ sim ~ in ∈ notin ∉
to → mapsto ↦ leftarrow ← times × cdot · pm ± mp ∓ cup ∪ setminus ∖ circ ∘ dots … perp ⊥ top ᵀ
propto ∝ ll ≪ gg ≫ emptyset ∅ star * dagger † sqrt √ langle ⟨ rangle ⟩ lVert ‖ rVert ‖ lvert | rvert
| angle ∠ prime ′ bar ¯ hat ^ tilde ~ dot ˙
"""
NAMES, SHOWN = CHARACTERS.split()[::2], CHARACTERS.split()[1::2]
SYMBOLS = dict(zip(NAMES, SHOWN, strict=True)) | {"quad": " ", "qquad": " ", "|": "‖"}
LAYOUT = re.compile(
    r"\\(?:begin|end)\{\w+\}|\\(?:[Bb]igg?[lr]?|left|right|rm|textstyle)(?![A-Za-z])|\\[\\!,; ]|&"
)
NAMED = re.compile(r"\\(?:operatorname|text|mathrm|mathbf|mathbb|mathcal)\s*(?:\{([^{}]*)\}|(\w))")
SCRIPT = re.compile(r"([_^√¯˙~])\s*\{([^{}]*)\}")
FRACTION = re.compile(r"\\[td]?frac\s*(\{[^{}]*\}|\w)\s*(\{[^{}]*\}|\w)")
COMMAND = re.compile(r"\\(?![td]?frac)([A-Za-z]+|\|)\s*")


@cache
def engine(macros: str) -> MiniRacer:
    """MathJax, ready to typeset with the macros of the book, an object of JSON."""
    folder = mathjax()
    script = MiniRacer()
    script.eval(BEFORE)
    for part in PARTS:
        script.eval((folder / part).read_text(encoding="utf-8") + ";0")
    script.eval(f"const PACKAGES = {json.dumps(PACKAGES)}, MACROS = {macros};0")
    script.eval(PROGRAM.read_text(encoding="utf-8") + ";0")
    return script


atexit.register(engine.cache_clear)  # V8's thread would keep the process from ending


def mathjax() -> Path:
    package = metadata.distribution(MATHJAX)
    return Path(str(package.locate_file("sphinx-mathjax-offline/static/mathjax")))


def typeset(tex: str, display: bool, macros: str = "{}") -> str:
    """Return a formula as HTML: what is seen, which screen readers skip, and MathML, which they read.

    Raises ``ValueError`` with the reason for what is no TeX.
    """
    call = f"JSON.stringify(typeset({json.dumps(tex)}, {json.dumps(display)}))"
    try:
        seen, read = json.loads(str(engine(macros).eval(call)))
    except JSEvalException as error:
        reason = str(error).partition("Error: ")[2].partition("\n")[0]
        raise ValueError(f"{tex!r} is no formula: {reason}") from None
    read = UNREAD.sub("", re.sub(r">\s+<", "><", read))
    inside = f'<mjx-assistive-mml display="{"block" if display else "inline"}">{read}</mjx-assistive-mml>'
    return seen.removesuffix("</mjx-container>") + inside + "</mjx-container>"


@cache
def remembered_formulas(root: Path) -> Callable[..., str]:
    """Return `typeset` with a memory: most formulas stay the same from build to build."""
    return remembered(root, typeset, metadata.version(MATHJAX), PROGRAM.read_text(encoding="utf-8"))


def with_formulas(app: Sphinx, body: str, place: str) -> str:
    """Return HTML with formulas in the place of their TeX.

    Raises ``ValueError`` naming the ``place`` if Sphinx writes a formula in another way.
    """
    macros = json.dumps(app.config.mathjax3_config["tex"]["macros"])
    formulas = remembered_formulas(app.srcdir)

    def typeset_there(match: re.Match) -> str:
        opening, tag, number, text, closing = match.groups()
        tex = html.unescape(text).strip().removeprefix(r"\(").removesuffix(r"\)")
        tex = tex.removeprefix(r"\[").removesuffix(r"\]")
        try:
            return opening + (number or "") + formulas(tex, tag == "div", macros) + closing
        except ValueError as error:
            LOGGER.warning(str(error), location=place)
            return match[0]

    changed, count = FORMULA.subn(typeset_there, body)
    if count != body.count(f'{CLASSES}"'):
        raise ValueError(f"{place} has a formula that is not written as {FORMULA.pattern}")
    return changed


def typeset_page(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    """Typeset a page, and drop the script that would have done it in the browser."""
    context["body"] = with_formulas(app, context.get("body", ""), page)
    scripts = context["script_files"]
    context["script_files"] = [script for script in scripts if "mathjax" not in str(script).lower()]


def typeset_claim(app: Sphinx, page: str) -> str:
    """Typeset a claim's own page."""
    sheet = '<link rel="stylesheet" href="../_static/mathematics.css">\n</head>'
    return with_formulas(app, page, "c/").replace("</head>", sheet, 1)


def write_sheet(app: Sphinx) -> None:
    """Write the fonts and the rules of MathJax."""
    macros = json.dumps(app.config.mathjax3_config["tex"]["macros"])
    static = Path(app.outdir, "_static")
    sheet = str(engine(macros).eval("adaptor.textContent(chtml.styleSheet(page))"))
    (static / "mathematics.css").write_text(sheet, encoding="utf-8")
    shutil.copytree(mathjax() / FONTS, static / "mathematics", dirs_exist_ok=True)


def plain(text: str) -> str:
    """A text with TeX as one line of characters, as far as that goes: fractions get a slash."""
    text = NAMED.sub(lambda name: name[1] or name[2], LAYOUT.sub(" ", text))
    text = text.replace(r"\{", "❴").replace(r"\}", "❵")
    text = COMMAND.sub(lambda command: SYMBOLS.get(command[1], f" {command[1]} "), text)
    before = ""
    while text != before:
        before = text
        text = SCRIPT.sub(lambda script: script[1] + bracketed(script[2]), text)
        text = FRACTION.sub(lambda fraction: "/".join(map(bracketed, fraction.groups())), text)
    text = re.sub(r"[{}$]|(?<![\^(])\*", "", text).replace("❴", "{").replace("❵", "}")
    return re.sub(r"(?<=\() | (?=[_^),.;:])", "", " ".join(text.split()))


def bracketed(tex: str) -> str:
    """What stands above, below or in a fraction, in brackets if it is more than a symbol."""
    inside = tex.removeprefix("{").removesuffix("}").strip()
    return inside if re.fullmatch(r"[^\W_]+|[*+-]", inside) else f"({inside})"


def setup(app: Sphinx) -> None:
    app.add_css_file("mathematics.css")
    on_page(app, typeset_page)
    app.connect("claim-page", typeset_claim)
    after_build(app, write_sheet)
