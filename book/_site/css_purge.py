"""Leaves in the style sheets and the fonts of icons what the site uses.

The theme styles many things that no page here has.  A rule stays where some page, or some script, names all
tags, classes and ids of it; states, attributes and what stands in ``:not()`` are never asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import tinycss2
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from look import after_build, remembered
from sphinx.application import Sphinx
from tinycss2.ast import LiteralToken, Node

SCRIPT = re.compile(r'<script[^>]*\ssrc="[^"]*_static/([^"?]+\.js)')
NAMES = re.compile(r'<([a-z][\w-]*)|\s(?:class|id)="([^"]*)"', re.I)
WORDS = re.compile(r"[A-Za-z_][\w-]*")
NESTING = ("media", "supports")
COMMA = LiteralToken(0, 0, ",")
ICON = re.compile("[\ue000-\uf8ff]")
SOURCE = re.compile(
    r'(url\([^()]*/fa-[\w-]+\.)woff2\) *format\("woff2"\), *url\([^()]*\.ttf\) *format\("truetype"\)'
)
FONTS = "vendor/fontawesome/webfonts"


def split(tokens: Iterable[Node]) -> list[list[Node]]:
    """Return what stands between the commas."""
    parts: list[list[Node]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def named(tokens: Iterable[Node]) -> Iterator[str]:
    """Yield the tags, classes and ids that a selector asks for."""
    before = ""
    for token in tokens:
        if token.type == "hash" or (token.type == "ident" and before == "."):
            yield token.value
        elif token.type == "ident" and before != ":":
            yield token.lower_value
        elif token.type == "function" and token.lower_name in ("is", "where"):
            alternatives = [set(named(part)) for part in split(token.arguments)]
            yield from set.intersection(*alternatives)
        before = token.value if token.type == "literal" else ""


def matching(rules: Iterable[Node], known: frozenset[str]) -> Iterator[Node]:
    """Yield the rules of which every name is known, without the selectors of which some name is not."""
    for rule in rules:
        if rule.type == "qualified-rule":
            parts = [part for part in split(rule.prelude) if known.issuperset(named(part))]
            if not parts:
                continue
            rule.prelude = [node for part in parts for node in (COMMA, *part)][1:]
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTING:
            inside = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            rule.content = list(matching(inside, known))
            if not rule.content:
                continue
        yield rule


def purged(sheet: str, known: str) -> str:
    """Return the rules of ``sheet`` that can match where only the ``known`` tags, classes and ids occur.

    Spaces stand between the names.
    """
    rules = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    return "\n".join(
        re.sub(r"\s+", " ", rule.serialize()) for rule in matching(rules, frozenset(known.split()))
    )


def names_in(page: str) -> frozenset[str]:
    """Return the tags, classes and ids of a page."""
    pairs = set(NAMES.findall(page))
    return frozenset(name for tag, names in pairs for name in ([tag.lower()] if tag else names.split()))


def write_sheets(app: Sphinx) -> None:
    """Purge all sheets of what no page, no preview and no script uses."""
    static = Path(app.outdir, "_static")
    pages = [path.read_text(encoding="utf-8") for path in Path(app.outdir).rglob("*.html")]
    previews = [
        path.read_text(encoding="utf-8").replace('\\"', '"') for path in static.glob("fragments/**/*.js")
    ]
    scripts = {static / name for page in pages for name in SCRIPT.findall(page)}
    words = (WORDS.findall(path.read_text(encoding="utf-8")) for path in scripts)
    known = frozenset().union(*map(names_in, pages + previews), *words)
    rules, names = remembered(app.srcdir, purged), " ".join(sorted(known))
    for path in static.rglob("*.css"):
        path.write_text(rules(path.read_text(encoding="utf-8"), names), encoding="utf-8")


def subset(font: Path, icons: set[int]) -> None:
    """Write beside a font, as WOFF, the same font with the ``icons`` alone, and remove the whole one."""
    icon_font = TTFont(font, recalcTimestamp=False)
    subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
    subsetter.populate(unicodes=icons)
    subsetter.subset(icon_font)
    icon_font.flavor = "woff"
    icon_font.save(font.with_suffix(".woff"))
    font.unlink()
    font.with_suffix(".woff2").unlink()


def write_icons(app: Sphinx) -> None:
    static = Path(app.outdir, "_static")
    sheets = {path: path.read_text(encoding="utf-8") for path in static.rglob("*.css")}
    icons = {ord(icon) for sheet in sheets.values() for icon in ICON.findall(sheet)}
    for font in sorted((static / FONTS).glob("*.ttf")):
        subset(font, icons)
    for path, sheet in sheets.items():
        path.write_text(SOURCE.sub(r'\1woff) format("woff")', sheet), encoding="utf-8")


def setup(app: Sphinx) -> None:
    after_build(app, write_sheets)
    after_build(app, write_icons)  # when the sheets name what is shown alone
