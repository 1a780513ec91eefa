"""Writes what stands beside the pages: all verdicts with full digits, and an address for every claim.

The page at the address has the claim as its paper's page shows it, and what the preview of a link reads.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from html import escape, unescape
from pathlib import Path
from string import Template
from textwrap import shorten

from claim_cards import erratum_of, ledger_pages, verdict_of, verdicts
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from lib.claims.ledger import Claim, Paper, read_ledger

LINE = re.compile(r'<div[^>]* id="verdict-([^"]+)">.*?(?=<div[^>]* id="verdict-|</section>)', re.S)
ADDRESS = re.compile(r'(?:(?<= href=")|(?<= src="))[^"]*')
DESCRIPTION = 300  # characters; a preview shows no more
PAGE = Template("""<!DOCTYPE html>
<html lang="en" class="claim-address">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<meta name="description" content="$description">
<meta property="og:type" content="article">
<meta property="og:site_name" content="$book">
<meta property="og:title" content="$title">
<meta property="og:description" content="$description">
<link rel="canonical" href="$canonical">
<link rel="icon" href="../_static/favicon.svg">
<link rel="stylesheet" href="../_static/book.css">
<link rel="stylesheet" href="../_static/claims.css">
<link rel="stylesheet" href="../_static/mathematics.css">
<script>
const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.documentElement.dataset.theme = localStorage.getItem("theme") || system;
</script>
</head>
<body>
<main class="bd-article">
<p class="claim-place"><a href="../index.html">$book</a></p>
<h1>$heading</h1>
<p class="claim-place">$paper</p>
$line
<ul>
$links
</ul>
</main>
</body>
</html>
""")

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


def plain(text: str) -> str:
    """A text with TeX as one line of characters, as far as that goes: fractions get a slash."""
    text = NAMED.sub(lambda found: found[1] or found[2], LAYOUT.sub(" ", text))
    text = text.replace(r"\{", "❴").replace(r"\}", "❵")
    text = COMMAND.sub(lambda found: SYMBOLS.get(found[1], f" {found[1]} "), text)
    before = ""
    while text != before:
        before = text
        text = SCRIPT.sub(lambda found: found[1] + bracketed(found[2]), text)
        text = FRACTION.sub(lambda found: f"{bracketed(found[1])}/{bracketed(found[2])}", text)
    text = re.sub(r"[{}$]|(?<![\^(])\*", "", text).replace("❴", "{").replace("❵", "}")
    return re.sub(r"(?<=\() | (?=[_^),.;:])", "", " ".join(text.split()))


def bracketed(tex: str) -> str:
    """What stands above, below or in a fraction, in brackets if it is more than a symbol."""
    inside = tex.removeprefix("{").removesuffix("}").strip()
    return inside if re.fullmatch(r"[^\W_]+|[*+-]", inside) else f"({inside})"


def moved(html: str, page: str, folder: str) -> str:
    """HTML of a page, for a page in another folder: its links and pictures are those they were."""

    def from_there(found: re.Match) -> str:
        target = unescape(found[0])
        if re.match(r"[a-z]+:", target):
            return found[0]
        whole = (
            f"{page}{target}" if target.startswith("#") else posixpath.join(posixpath.dirname(page), target)
        )
        path, mark, anchor = whole.partition("#")
        return escape(posixpath.relpath(path, folder) + mark + anchor)

    return ADDRESS.sub(from_there, html)


def description(claim: Claim) -> str:
    """What is true, then what was printed, as far as a preview has room."""
    text = f"{claim.corrected} As printed: {claim.statement}" if claim.corrected else claim.statement
    return shorten(plain(text), DESCRIPTION, placeholder=" …")


def address_page(app: Sphinx, paper: Paper, claim: Claim, line: str, page: str) -> str:
    """The page at the address of a claim; ``line`` is the claim as ``page`` shows it."""
    verdict = verdict_of(app.env, claim)
    links = [f'<li><a href="../{escape(uri)}">{name}</a></li>' for name, uri in links_of(app, claim).items()]
    return PAGE.substitute(
        title=escape(f"{claim.paper}, {plain(claim.place)}: {verdict}"),
        heading=escape(f"{claim.paper}, {plain(claim.place)}"),
        description=escape(description(claim)),
        paper=escape(
            f"{'Our own, about ' if claim.ours else ''}{paper.authors}: {paper.title} ({paper.year})"
        ),
        book=escape(app.config.html_title),
        canonical=f"{app.config.html_baseurl}c/{claim.id}.html"
        if app.config.html_baseurl
        else f"{claim.id}.html",
        line=moved(line, page, "c").replace("<details ", "<details open "),
        links="\n".join(links),
    )


def links_of(app: Sphinx, claim: Claim) -> dict[str, str]:
    """Where else the book speaks of a claim: a name and an address from the site's root."""
    anchors = {
        "Among the claims of its paper": (page_of(app.env, claim), f"verdict-{claim.id}"),
        "The cell that decides it": (
            verdicts(app.env).get(claim.id, {}).get("docname"),
            f"claim-{claim.id}",
        ),
        "What is wrong as printed": (
            ledger_pages(app.env).get(f"erratum-{erratum_of(claim.id)}"),
            f"erratum-{erratum_of(claim.id)}",
        ),
        "On the scorecard": (ledger_pages(app.env).get(f"scorecard-{claim.id}"), f"scorecard-{claim.id}"),
    }
    return {
        name: f"{app.builder.get_target_uri(docname)}#{anchor}"
        for name, (docname, anchor) in anchors.items()
        if docname
    }


def page_of(env: BuildEnvironment, claim: Claim) -> str | None:
    """The page of the claim's paper."""
    return ledger_pages(env).get(f"verdict-{claim.id}")


def write_addresses(app: Sphinx, exception: Exception | None) -> None:
    """Write ``c/<claim>.html`` for all claims that the papers' pages show."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "c")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for paper in read_ledger():
        claims = {claim.id: claim for claim in paper.claims}
        for docname in {page_of(app.env, claim) for claim in paper.claims} - {None}:
            page = app.builder.get_target_uri(docname)
            for line in LINE.finditer(Path(app.outdir, page).read_text(encoding="utf-8")):
                text = address_page(app, paper, claims[line[1]], line[0], page)
                (folder / f"{line[1]}.html").write_text(text, encoding="utf-8")


def write_records(app: Sphinx, exception: Exception | None) -> None:
    """Write every verdict of the book, with full digits, to claims.json beside the pages."""
    if exception is None and app.builder.format == "html":
        records = [verdicts(app.env)[key]["record"] for key in sorted(verdicts(app.env))]
        Path(app.outdir, "claims.json").write_text(json.dumps(records, indent=1), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", write_addresses)
    app.connect("build-finished", write_records)
    return {"version": "1", "parallel_read_safe": False}
