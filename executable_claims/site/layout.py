"""Lays out nodes as templates say, in Docutils' own XML with Jinja: ``templates/*.xml``.

In a template ``{{ insert(nodes) }}`` stands for nodes that code has made, and ``{{ myst(text) }}`` for what a
text of the ledger is parsed to.  White space counts as in HTML: not at all between blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from sphinx.writers.html5 import HTML5Translator

from executable_claims.claims.comparison import SUPERSCRIPTS

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
)
EXPONENT = re.compile(r"(?<![\w.])([\d.]+)e([+-]?)0*(\d+)\b")
ATTRIBUTES: dict[str, Callable[[str], Any]] = {  # that templates may give to nodes, and how they are read
    **dict.fromkeys(nodes.Element.list_attributes, str.split),
    **dict.fromkeys(("internal", "refid", "reftitle", "refuri"), str),
    **dict.fromkeys(("cols", "colwidth"), int),
}


def powers(text: str) -> str:
    """Return a text with numbers as 3·10⁻⁷ in the place of 3e-07."""

    def written(number: re.Match) -> str:
        digits, sign, power = number.groups()
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
    template: str, parse: Callable[[str], Iterable[nodes.Node]] | None = None, **data: Any
) -> list[nodes.Node]:
    """Return the nodes that a template describes; ``parse`` reads a text of the ledger.

    Raises ``ValueError`` for an attribute that no node has.
    """
    inserted: list[list[nodes.Node]] = []

    def insert(made: Iterable[nodes.Node]) -> Markup:
        inserted.append(list(made))
        return Markup("<insert>{}</insert>").format(len(inserted) - 1)

    if parse:
        data["myst"] = lambda text: insert(parse(text))
    text = TEMPLATES.get_template(template).render(data, insert=insert)
    return _children(ElementTree.fromstring(f"<document>{text.strip()}</document>"), inserted)


def _children(element: ElementTree.Element, inserted: list[list[nodes.Node]]) -> list[nodes.Node]:
    children = _text(element.text)
    for child in element:
        if child.tag == "insert":
            children += inserted[int(child.text or 0)]
        else:
            kind = OWN[child.tag] if child.tag in OWN else getattr(nodes, child.tag)
            node = kind(**{name: _attribute(child.tag, name, value) for name, value in child.items()})
            node += _children(child, inserted)
            children.append(node)
        children += _text(child.tail)
    inline = any(isinstance(node, nodes.Inline | nodes.Text) and node != " " for node in children)
    return [node for node in children if inline or node != " "]


def _attribute(tag: str, name: str, text: str) -> Any:
    if tag == pending.__name__:
        return text  # for a template
    if name not in ATTRIBUTES:
        raise ValueError(f"{tag} has the attribute {name!r}, allowed: {', '.join(sorted(ATTRIBUTES))}")
    return ATTRIBUTES[name](text)


def _text(text: str | None) -> list[nodes.Node]:
    return [nodes.Text(re.sub(r"\s+", " ", text))] if text else []


def visit_html(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append(self.starttag(node, node.tagname))


def depart_html(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append(f"</{node.tagname}>\n")
