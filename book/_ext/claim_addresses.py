"""Writes what stands beside the pages: all verdicts with full digits, and an address for every claim.

The page at the address has the claim as its paper's page shows it, and what the preview of a link reads.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
from dataclasses import asdict, replace
from html import escape, unescape
from pathlib import Path
from string import Template
from textwrap import shorten

from claim_cards import erratum_of, ledger_pages, verdict_of, verdicts
from link_previews import Preview, tags, write_picture
from plain_text import plain
from provenance import commit, now
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from lib.claims.ledger import Claim, Paper, read_ledger

LINE = re.compile(
    r'<div[^>]* id="verdict-([^"]+)">.*?(?=<div[^>]* id="verdict-|</details>\s*</section>)', re.S
)
ADDRESS = re.compile(r'(?:(?<= href=")|(?<= src="))[^"]*')
DESCRIPTION = 300  # characters; a preview shows no more
ENOUGH = 50  # a shorter description says little
PAGE = Template("""<!DOCTYPE html>
<html lang="en" class="claim-address">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
$tags
<link rel="canonical" href="$canonical">
<link rel="icon" href="../_static/favicon.svg">
<link rel="stylesheet" href="../_static/book.css">
<link rel="stylesheet" href="../_static/claims.css">
<link rel="stylesheet" href="../_static/mathematics.css">
<script>
const theme = document.documentElement.dataset;
theme.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
try {
  theme.theme = localStorage.getItem("theme") || theme.theme;
} catch {
  // a browser may forbid it
}
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
    """What is true, then what was printed, as far as a preview has room; before a short one what it is."""
    text = f"{claim.corrected} As printed: {claim.statement}" if claim.corrected else claim.statement
    if len(plain(text)) < ENOUGH:
        text = f"{claim.paper}, {claim.place}, a claim of kind {claim.kind}: {text}"
    return shorten(plain(text), DESCRIPTION, placeholder=" …")


def address_page(app: Sphinx, paper: Paper, claim: Claim, line: str, page: str) -> str:
    """The page at the address of a claim; ``line`` is the claim as ``page`` shows it."""
    verdict = verdict_of(app.env, claim)
    links = [f'<li><a href="../{escape(uri)}">{name}</a></li>' for name, uri in links_of(app, claim).items()]
    name, base = f"{claim.paper}, {plain(claim.place)}", app.config.html_baseurl
    address = f"c/{claim.id}.html"
    preview = Preview(app.config.html_title, f"{name}: {verdict}", description(claim), verdict)
    picture = (base or "../") + write_picture(replace(preview, title=name), Path(app.outdir))
    return PAGE.substitute(
        title=escape(preview.title),
        heading=escape(name),
        tags=tags(preview, picture, base and base + address),
        paper=escape(
            f"{'Our own, about ' if claim.ours else ''}{paper.authors}: {paper.title} ({paper.year})"
        ),
        book=escape(app.config.html_title),
        canonical=f"{base}{address}" if base else f"{claim.id}.html",
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


def record(env: BuildEnvironment, claim: Claim) -> dict:
    """What is known of a claim: the record of its verdict, or what the ledger has, compared with nothing."""
    if entry := verdicts(env).get(claim.id):
        return entry["record"]
    return {"claim": asdict(claim), "verdict": verdict_of(env, claim), "comparison": None}


def write_records(app: Sphinx, exception: Exception | None) -> None:
    """Write all claims, those that are decided with full digits, to claims.json beside the pages."""
    if exception is None and app.builder.format == "html":
        claims = sorted((claim for paper in read_ledger() for claim in paper.claims), key=lambda one: one.id)
        content = {
            "book": app.config.html_title,
            "commit": commit(),
            "date": f"{now():%Y-%m-%d}",
            "claims": [record(app.env, claim) for claim in claims],
        }
        Path(app.outdir, "claims.json").write_text(json.dumps(content, indent=1), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", write_addresses)
    app.connect("build-finished", write_records)
    return {"version": "1", "parallel_read_safe": False}
