"""Prints in the light colours whatever the theme on the screen: dark text on white paper."""

from __future__ import annotations

import re
from pathlib import Path

from after_build import after_build
from sphinx.application import Sphinx

SHEETS = ("styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css", "pygments.css", "book.css")
LIGHT_RULE = re.compile(r'([^{}/]*data-theme="?light\b[^{}]*)(\{[^{}]*\})')
# What the themes draw in the dark only: without an override it would stay on paper.
DARK_ONLY = """
html[data-theme="dark"] .bd-content div.cell_output :is(.text_html, .widget-subarea, img) {
  background: none !important;
  color: inherit !important;
}
"""


def light_rules(sheet: str) -> str:
    """Return the rules that ``sheet`` has for the light theme, for the dark one."""
    found = LIGHT_RULE.finditer(sheet)
    return "\n".join(re.sub(r"\blight\b", "dark", rule[1], count=1).strip() + rule[2] for rule in found)


def write_sheet(app: Sphinx) -> None:
    static = Path(app.outdir, "_static")
    rules = [DARK_ONLY, *(light_rules((static / name).read_text(encoding="utf-8")) for name in SHEETS)]
    (static / "print.css").write_text("\n".join(rules), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_css_file("print.css", media="print", priority=900)
    after_build(app, write_sheet, priority=900)  # after the theme has written pygments.css
