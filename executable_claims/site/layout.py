"""Lays out nodes as templates say, in Docutils' own XML with Jinja: ``templates/*.xml``.

In a template ``{{ insert(nodes) }}`` stands for nodes that code has made, and ``{{ myst(text) }}`` for what a
text of the ledger is parsed to.  White space counts as in HTML: not at all between blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from executable_claims.claims.comparison import SUPERSCRIPTS

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
)
EXPONENT = re.compile(r"(?<![\w.])([\d.]+)e([+-]?)0*(\d+)\b")
ATTRIBUTES = {**dict.fromkeys(nodes.Element.list_attributes, str.split), "cols": int, "colwidth": int}


def powers(text: str) -> str:
    """Return a text with numbers as 3·10⁻⁷ in the place of 3e-07."""

    def written(found: re.Match) -> str:
        digits, sign, power = found.groups()
        factor = "" if digits == "1" else f"{digits}·"
        return f"{factor}10{'⁻' * (sign == '-')}{power.translate(SUPERSCRIPTS)}"

    return EXPONENT.sub(written, text)


TEMPLATES.filters["powers"] = powers


class details(nodes.container):
    """A line that opens: its first child is a `summary`."""


class summary(nodes.container):
    """The line of a `details`."""


class pending(nodes.Element):
    """A place for what a ``template`` says of its other attributes once every chapter has been read."""


OWN = {kind.__name__: kind for kind in (details, summary, pending)}


def lay_out(
    template: str, parse: Callable[[str], Iterable[nodes.Node]] | None = None, **data
) -> list[nodes.Node]:
    """Return the nodes that a template describes; ``parse`` reads a text of the ledger."""
    inserted: list[list[nodes.Node]] = []

    def insert(made: Iterable[nodes.Node]) -> Markup:
        inserted.append(list(made))
        return Markup("<insert>{}</insert>").format(len(inserted) - 1)

    text = TEMPLATES.get_template(template).render(data, insert=insert, myst=lambda text: insert(parse(text)))
    return _children(ElementTree.fromstring(f"<document>{text.strip()}</document>"), inserted)


def _children(element: ElementTree.Element, inserted: list[list[nodes.Node]]) -> list[nodes.Node]:
    found = _text(element.text)
    for child in element:
        if child.tag == "insert":
            found += inserted[int(child.text or 0)]
        else:
            kind = OWN.get(child.tag) or getattr(nodes, child.tag)
            made = kind(**{name: ATTRIBUTES.get(name, str)(value) for name, value in child.items()})
            made += _children(child, inserted)
            found.append(made)
        found += _text(child.tail)
    inline = any(isinstance(one, nodes.Inline | nodes.Text) and one != " " for one in found)
    return [one for one in found if inline or one != " "]


def _text(text: str | None) -> list[nodes.Node]:
    return [nodes.Text(re.sub(r"\s+", " ", text))] if text else []


def visit_html(self, node: nodes.Element) -> None:
    self.body.append(self.starttag(node, node.tagname))


def depart_html(self, node: nodes.Element) -> None:
    self.body.append(f"</{node.tagname}>\n")
