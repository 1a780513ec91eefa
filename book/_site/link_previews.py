"""Gives every page what a link to it shows elsewhere: a description, and a picture with its words."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import cache
from html import escape, unescape
from pathlib import Path
from textwrap import shorten

from after_build import on_page
from docutils import nodes
from footer import address_of
from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont
from plain_text import plain
from provenance import citation
from sphinx.application import Sphinx

import executable_claims
from executable_claims.ledger import Claim

SIZE = (1200, 630)
MARGIN = 70
FOLDER = "_previews"
SHEET = Path(executable_claims.__file__).parent / "static" / "executable_claims.css"
COLOUR = {"": "verified", "not yet": "not-yet", "not here": "not-yet"}  # all others have their own
DESCRIPTION = 300  # characters; a preview shows no more
ENOUGH = 50  # a shorter description says little
PROMISE = re.compile(r"^.*?(?=At the end you will )")  # a chapter names its paper before
INK, FAINT, PAPER = "#1b1e23", "#5c636b", "#ffffff"


@dataclass(frozen=True)
class Preview:
    """What a link shows; ``verdict`` is a claim's, and gives the picture its colour."""

    book: str
    title: str
    text: str
    verdict: str = ""


@cache
def colours() -> dict[str, str]:
    """The colours of the verdicts on white, as the site's sheet has them."""
    found = re.findall(r"--([\w-]+): (#\w+);", SHEET.read_text(encoding="utf-8"))
    return dict(reversed(found))  # the first of each name is the light one


@cache
def font(style: str, size: int) -> ImageFont.FreeTypeFont:
    """A font that has the signs of mathematics, from Matplotlib's folder."""
    return ImageFont.truetype(str(Path(get_data_path(), "fonts", "ttf", f"DejaVu{style}.ttf")), size)


def lines(text: str, face: ImageFont.FreeTypeFont) -> Iterator[str]:
    """Break a text into lines that fit between the margins."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and face.getlength(longer) > SIZE[0] - 2 * MARGIN:
            yield line
            longer = word
        line = longer
    yield line


def first_lines(text: str, face: ImageFont.FreeTypeFont, most: int) -> str:
    """As many lines of a text as there is room for."""
    broken = list(lines(text, face))
    return "\n".join(broken if len(broken) <= most else [*broken[: most - 1], f"{broken[most - 1]} …"])


def picture(preview: Preview) -> Image.Image:
    """The picture of a link: the book, the verdict if there is one, the title, and the first words."""
    colour = colours()[COLOUR.get(preview.verdict, preview.verdict)]
    image = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 24, SIZE[1]), fill=colour)
    draw.text((MARGIN, 50), preview.book, FAINT, font("Sans", 28))
    if preview.verdict:
        draw.text((SIZE[0] - MARGIN, 50), preview.verdict, colour, font("Sans-Bold", 32), anchor="ra")
    face = font("Sans-Bold", 44)
    title = first_lines(preview.title, face, 3)
    draw.multiline_text((MARGIN, 130), title, INK, face, spacing=14)
    top = draw.multiline_textbbox((MARGIN, 130), title, face, spacing=14)[3] + 42
    body = font("Sans", 30)
    room = int((SIZE[1] - MARGIN - top) // 46)
    draw.multiline_text((MARGIN, top), first_lines(preview.text, body, room), INK, body, spacing=16)
    return image.quantize(16, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def write_picture(preview: Preview, site: Path) -> str:
    """Draw the picture into the site unless it is there; return its address from the root."""
    digest = hashlib.sha256("\n".join(astuple(preview)).encode()).hexdigest()[:16]
    address = f"{FOLDER}/{digest}.png"
    path = site / address
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        picture(preview).save(path)
    return address


def tags(preview: Preview, picture_address: str, page_address: str = "") -> str:
    """The tags in the head of a page that say what a link to it shows."""
    properties = {
        "og:type": "article",
        "og:site_name": preview.book,
        "og:title": preview.title,
        "og:description": preview.text,
        "og:image": picture_address,
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": preview.title,
        "og:url": page_address,
    }
    found = [f'<meta name="description" content="{escape(preview.text)}">']
    found += [
        f'<meta property="{name}" content="{escape(text)}">' for name, text in properties.items() if text
    ]
    return "\n".join([*found, '<meta name="twitter:card" content="summary_large_image">'])


def text_of(node: nodes.Node) -> str:
    """What a reader reads of a paragraph, with its TeX as characters."""
    if isinstance(node, nodes.math):
        return plain(node.astext())
    return "".join(map(text_of, node.children)) if node.children else node.astext()


def description(doctree: nodes.document | None, title: str) -> str:
    """The first sentences of a page, or its title and what the book is about."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        if isinstance(paragraph.parent, nodes.section) and len(text) < ENOUGH:
            words = " ".join(text_of(paragraph).split())
            text += " " + PROMISE.sub("", words)
    if len(text) < ENOUGH:
        text = f"{title}. {citation()['abstract']}"
    return shorten(text, DESCRIPTION, placeholder=" …")


def describe(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Put the tags of its preview into the head of a page, and write the picture; lists have the book's."""
    named = app.env.titles.get(pagename)
    title = named.astext() if named else unescape(context.get("title", app.config.html_title))
    preview = Preview(app.config.html_title, title, description(doctree, title))
    shown = preview if named else Preview(preview.book, preview.book, citation()["abstract"])
    base = app.config.html_baseurl or "../" * pagename.count("/")
    picture = base + write_picture(shown, Path(app.outdir))
    context["metatags"] = context.get("metatags", "") + tags(preview, picture, address_of(app, pagename))


def describe_claim(app: Sphinx, claim: Claim, verdict: str) -> str:
    """The tags of the preview of a claim's own page: the claim in words, and its verdict."""
    title, base = f"{claim.about}, {claim.paper}: {verdict}", app.config.html_baseurl
    preview = Preview(app.config.html_title, title, claim.in_words, verdict)
    picture = (base or "../") + write_picture(preview, Path(app.outdir))
    address = f"{base}c/{claim.id}.html" if base else f"{claim.id}.html"
    return f'{tags(preview, picture, base and address)}\n<link rel="canonical" href="{address}">'


def setup(app: Sphinx) -> None:
    on_page(app, describe)
    app.connect("claim-head", describe_claim)
