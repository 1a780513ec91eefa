"""Lays out formulas, numbers and texts, and folds solutions.

Punctuation stays on the line of its formula, displays stand between paragraphs, and a number that a cell has
computed is written with a power of ten where Python writes an exponent, a text without Python's quotes.
"""

from __future__ import annotations

import ast
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from executable_claims.layout import details, summary

OPENING = re.compile(r"[(\[‘“]*$")
PUNCTUATION = re.compile(r"(?:[.,;:!?)\]’”]+|-[a-z]+)?")

EXPONENT = re.compile(r"(-?)([\d.]+)e([+-])0*(\d+)")
QUOTED = re.compile(r"""(['"]).*\1""")


def join_punctuation(document: nodes.Element) -> None:
    """Wrap each inline formula in one unbreakable piece with the brackets and marks around it."""
    for formula in list(document.findall(nodes.math)):
        line = formula.parent
        # By identity: texts compare by content, and an equal one may stand earlier in the paragraph.
        place = next(k for k, child in enumerate(line) if child is formula)
        around = [line[k] if 0 <= k < len(line) else None for k in (place - 1, place + 1)]
        before, after = (each if isinstance(each, nodes.Text) else nodes.Text("") for each in around)
        opening, mark = OPENING.findall(before)[0], PUNCTUATION.findall(after)[0]
        if not opening + mark:
            continue
        line[place] = nodes.inline("", opening, formula, nodes.Text(mark), classes=["unbreakable"])
        if opening:
            line[place - 1] = nodes.Text(before.removesuffix(opening))
        if mark:
            line[place + 1] = nodes.Text(after.removeprefix(mark))


def lift_displays(document: nodes.Element) -> None:
    """Split each paragraph at the displays in it: HTML allows no block inside a paragraph."""
    for paragraph in list(document.findall(nodes.paragraph)):
        if not any(isinstance(child, nodes.math_block) for child in paragraph):
            continue
        pieces: list[nodes.Element] = []
        for child in paragraph.children:
            if isinstance(child, nodes.math_block):
                pieces.append(child)
            elif child.astext().strip():
                if not pieces or isinstance(pieces[-1], nodes.math_block):
                    pieces.append(nodes.paragraph())
                pieces[-1] += child
        paragraph.replace_self(pieces)


def write_powers(document: nodes.Element) -> None:
    """Write the numbers pasted into the prose as 3 · 10⁻⁷ in the place of 3e-07."""
    for number in document.findall(nodes.inline):
        if "pasted-text" in number["classes"] and (parts := EXPONENT.fullmatch(number.astext())):
            sign, digits, below, power = parts.groups()
            factor = "" if digits == "1" else f"{digits}\u202f·\u202f"
            number.children = []
            number += nodes.Text("−" * bool(sign) + factor + "10")
            number += nodes.superscript("", "−" * (below == "-") + power)


def unquote(document: nodes.Element) -> None:
    """Show a text that a cell returns as it is, without quotes."""
    for block in document.findall(nodes.literal_block):
        if "text_plain" in block["classes"] and QUOTED.fullmatch(block.astext()):
            block.rawsource = ast.literal_eval(block.astext())
            block.clear()
            block += nodes.Text(block.rawsource)


def fold(document: nodes.Element) -> None:
    """Let a box of the class ``dropdown`` open by itself, without a script."""
    for box in list(document.findall(nodes.admonition)):
        if "dropdown" in box["classes"]:
            title, *inside = box.children
            line = summary("", *title.children, classes=["admonition-title"])
            box.replace_self(details("", line, *inside, classes=["admonition", "solution"]))


class LayOutFormulas(SphinxPostTransform):
    default_priority = 700

    def run(self, **options: object) -> None:
        join_punctuation(self.document)
        lift_displays(self.document)
        write_powers(self.document)
        unquote(self.document)
        fold(self.document)


def setup(app: Sphinx) -> None:
    app.add_post_transform(LayOutFormulas)
