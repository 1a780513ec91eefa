"""Writes what readers and machines enter the site by: its root, its map, and the page for a miss."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from after_build import after_build
from markup import render
from markupsafe import Markup
from sphinx.application import Sphinx

DESCRIBED = re.compile(r'<meta (?:name="(?:description|twitter:card)"|property="og:)[^>]*>')


def write(app: Sphinx) -> None:
    site, base = Path(app.outdir), app.config.html_baseurl
    start = app.builder.get_target_uri(app.config.root_doc)
    page = (site / start).read_text(encoding="utf-8")
    folder = "../" * start.count("/")
    described = "\n".join(DESCRIBED.findall(page)).replace(f'content="{folder}', 'content="')
    shared = {"book": app.config.html_title, "start": start}
    texts = {
        "index.html": render("index.html", described=Markup(described), **shared),
        "404.html": render("404.html", root=urlsplit(base).path or "/", **shared),
        "robots.txt": "User-agent: *\nAllow: /\n" + (f"Sitemap: {base}sitemap.xml\n" if base else ""),
    }
    if base:  # a map needs whole addresses
        pages = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
        claims = sorted(path.relative_to(site).as_posix() for path in site.glob("c/*.html"))
        texts["sitemap.xml"] = render("sitemap.xml", base=base, addresses=pages + claims)
    for name, text in texts.items():
        (site / name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    after_build(app, write)
