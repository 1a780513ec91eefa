"""Writes what readers and machines enter the site by: its root, its map, and the page for a miss."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from sphinx.application import Sphinx

DESCRIBED = re.compile(r'<meta (?:name="(?:description|twitter:card)"|property="og:)[^>]*>')
STYLE = """<style>
html { color-scheme: light dark; }
body { max-width: 36rem; margin: 4rem auto; padding: 0 1rem; font: 1.1rem/1.6 Georgia, serif; }
a { display: inline-block; min-height: 24px; }
</style>"""
ROOT = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url=$start">
<title>$book</title>
$described
<link rel="icon" href="_static/favicon.svg">
$style
</head>
<body>
<h1>$book</h1>
<p><a href="$start">Open the book</a></p>
</body>
</html>
""")
MISS = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="description" content="There is no page at this address of $book.">
<title>There is no such page: $book</title>
<base href="$root">
<link rel="icon" href="_static/favicon.svg">
$style
</head>
<body>
<h1>There is no such page</h1>
<p>The address may be mistyped, or a chapter has been divided.</p>
<ul>
<li><a href="$start">The book</a></li>
<li><a href="search.html">Search it</a></li>
<li><a href="book/scorecard.html">All claims, with their verdicts</a></li>
</ul>
</body>
</html>
""")


def site_map(base: str, addresses: list[str]) -> str:
    """The addresses of all pages, for search engines."""
    places = "\n".join(f"<url><loc>{escape(base + address)}</loc></url>" for address in addresses)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{places}\n</urlset>\n'
    )


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    site, base = Path(app.outdir), app.config.html_baseurl
    book, start = escape(app.config.html_title), app.builder.get_target_uri(app.config.root_doc)
    page = (site / start).read_text(encoding="utf-8")
    folder = "../" * start.count("/")
    described = "\n".join(DESCRIBED.findall(page)).replace(f'content="{folder}', 'content="')
    texts = {
        "index.html": ROOT.substitute(book=book, start=start, described=described, style=STYLE),
        "404.html": MISS.substitute(book=book, start=start, root=urlsplit(base).path or "/", style=STYLE),
        "robots.txt": "User-agent: *\nAllow: /\n" + (f"Sitemap: {base}sitemap.xml\n" if base else ""),
    }
    if base:  # a map needs whole addresses
        pages = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
        claims = sorted(path.relative_to(site).as_posix() for path in site.glob("c/*.html"))
        texts["sitemap.xml"] = site_map(base, pages + claims)
    for name, text in texts.items():
        (site / name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", write, priority=950)  # after the claims have their addresses
