"""The templates of the site: HTML with Jinja, and scripts that stand in pages."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

FOLDER = Path(__file__).parent / "templates"
TEMPLATES = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined)


def render(template: str, **data) -> str:
    """Return what a template makes of data, which may hold markup."""
    return TEMPLATES.get_template(template).render(data)
