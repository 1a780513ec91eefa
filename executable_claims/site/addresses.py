"""Writes the page at each claim's own address, ``c/<claim>.html``, and all verdicts with full digits.

The page says all that one who is sent there wants to know.  It has no theme around it and loads little.
Formulas are written as Sphinx writes them, so that what typesets the book's can typeset these.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.application import Sphinx

from executable_claims.claims.clauses import phrases
from executable_claims.claims.ledger import NOT_HERE, NOT_YET, Claim, Paper, read_ledger
from executable_claims.run.dependencies import digest
from executable_claims.site.cards import allowed, failing, parts, refusals, target
from executable_claims.site.layout import TEMPLATES
from executable_claims.site.outcomes import Outcomes, errata_of, outcomes

MEANING = {
    "verified": "A cell of the book measured it, and a wrong theory fails the same check.",
    "corrected": "False as printed; the repaired statement holds, and the printed one fails.",
    "refuted": "What a cell measured contradicts it.",
    "stand-in": "Seen on other data, sizes or schedules than the paper's: no verdict on its own runs.",
    NOT_HERE: "It cannot be decided by running something; the reason stands below.",
    NOT_YET: "No cell has decided it so far.",
}


def tex(formula: str, options: dict) -> str:
    """A formula between the marks that Sphinx writes."""
    left, right = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
    return f"{left}{escape(formula)}{right}"


FORMULA = r'<span class="math[^>]*>[^<]*</span>'
PUNCTUATED = re.compile(rf"[(\[]+{FORMULA}[.,;:!?)\]]*|{FORMULA}[.,;:!?)\]]+")
MARKDOWN = MarkdownIt("commonmark", {"html": False, "typographer": True}).enable("smartquotes")
MARKDOWN.use(dollarmath_plugin, double_inline=True, renderer=tex)


def prose(text: str) -> Markup:
    """A text of the ledger as HTML."""
    html = MARKDOWN.renderInline(" ".join(text.split()))
    html = html.replace('class="math inline"', 'class="math notranslate nohighlight"')
    return Markup(PUNCTUATED.sub(r'<span class="unbreakable">\g<0></span>', html))


TOOLS = {
    "prose": prose,
    **{each.__name__: each for each in (allowed, failing, parts, phrases, refusals, target)},
}  # of the template


def picture(app: Sphinx, known: Outcomes, page: str, claim: Claim) -> dict[str, str] | None:
    """The figure near the card of a claim, drawn by the book or as a picture, and its address."""
    if not (figure := known.figures.get(page, {}).get(claim.id)):
        return None
    source = Path(app.srcdir, figure["uri"])
    drawing = app.emit_firstresult("claim-drawing", source, figure["alt"])
    target = Path(app.outdir, "_images", source.name)
    if not drawing and not target.exists():
        target.parent.mkdir(exist_ok=True)
        shutil.copy(source, target)
    image = f'<img src="../_images/{source.name}" alt="{escape(figure["alt"])}" loading="lazy">'
    return {"html": drawing or image, "address": f"{app.builder.get_target_uri(page)}#{figure['id']}"}


def bibtex(app: Sphinx, claim: Claim, commit: str) -> str:
    """The entry of a claim for a bibliography."""
    base = app.config.html_baseurl
    fields = {
        "title": claim.headline.rstrip("."),
        "author": f"{{{app.config.author}}}",
        "howpublished": f"{app.config.html_title}, claim {claim.id}",
        "year": f"{datetime.now(UTC):%Y}",
        "url": f"{base}c/{claim.id}.html" if base else "",
        "note": f"Commit {commit}",
    }
    lines = [f"  {name:<12} = {{{value}}}" for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{claim.id},", ",\n".join(lines), "}"])


def said(app: Sphinx, known: Outcomes, paper: Paper, claim: Claim, commit: str) -> dict[str, Any]:
    """All that the page at the address of a claim says, as its template has it."""
    verdict, record = known.verdict(claim), known.records.get(claim.id)
    anchors = known.anchors(claim)
    card = anchors.get("claim", "")
    docname = known.pages.get(card, "")
    default = [f"python -m pytest {app.env.doc2path(docname, base=False)}"] if docname else []
    report = app.emit_firstresult("claim-report", "c/", claim) or ""
    return dict(
        paper=replace(paper, claims=(), errata=(), remarks=()),
        claim=claim,
        verdict=verdict,
        meaning=MEANING[verdict],
        record=record,
        printed=[
            note for note in errata_of(paper) if claim.id in note.claims and note.printed != claim.statement
        ],
        places={
            kind: f"{app.builder.get_target_uri(known.pages[name])}#{name}" for kind, name in anchors.items()
        },
        chapter=app.env.titles[docname].astext() if docname else "",
        picture=picture(app, known, docname, claim),
        commands=app.emit_firstresult("claim-commands", docname, claim) or default,
        bibtex=bibtex(app, claim, commit),
        commit=commit,
        report=report if ":" in report else "",
        book=app.config.html_title,
        icon=Path(app.config.html_favicon or "").name,
        sheets=["executable_claims.css", *(name for name, _ in app.config.html_css_files)],
        head=app.emit_firstresult("claim-head", claim, verdict),
        mathjax=app.config.mathjax_path,
    )


@cache
def commit(root: Path) -> str:
    """The commit a folder is at, and whether the tree differs from it."""
    describe = ["git", "describe", "--always", "--exclude=*", "--abbrev=12"]
    command = [*describe, "--dirty= with uncommitted changes"]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown (not a git checkout)"


def write_pages(app: Sphinx, known: Outcomes, commit: str) -> None:
    """Write the pages that would say something else than those of the last build."""
    folder, noted = Path(app.outdir, "c"), Path(app.doctreedir, "addresses.json")
    before = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    builder: Any = app.builder
    made_by, keys = (builder.build_info.config_hash, app.config.code_of_the_site), {}
    folder.mkdir(exist_ok=True)
    for paper in read_ledger():
        for claim in paper.claims:
            path, says = folder / f"{claim.id}.html", said(app, known, paper, claim, commit)
            keys[path.name] = digest(repr([says, made_by]))
            if before.get(path.name) != keys[path.name] or not path.exists():
                html = TEMPLATES.get_template("address.html").render(says, **TOOLS)
                path.write_text(app.emit_firstresult("claim-page", html) or html, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in keys:
            path.unlink()
    noted.write_text(json.dumps(keys), encoding="utf-8")


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write ``c/<claim>.html`` for all claims, and what is known of them, in full digits, to claims.json."""
    if exception is not None or app.builder.format != "html":
        return
    known, now = outcomes(app.env), commit(Path(app.srcdir))
    write_pages(app, known, now)
    claims = sorted((claim for paper in read_ledger() for claim in paper.claims), key=lambda claim: claim.id)
    undecided = {
        claim.id: {"claim": asdict(claim), "verdict": known.verdict(claim), "comparison": None}
        for claim in claims
    }
    content = {
        "book": app.config.html_title,
        "commit": now,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "claims": [known.records.get(name, default) for name, default in undecided.items()],
    }
    Path(app.outdir, "claims.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
