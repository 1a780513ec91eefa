"""Lays out formulas: punctuation stays on the line of its formula, and displays stand between paragraphs."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

PUNCTUATION = re.compile(r"[.,;:!?)\]’”]+|-[a-z]+")


def join_punctuation(document: nodes.Element) -> None:
    """Wrap each inline formula and the punctuation after it in one unbreakable piece."""
    for formula in list(document.findall(nodes.math)):
        after = formula.next_node(descend=False, siblings=True)
        if not isinstance(after, nodes.Text) or not (mark := PUNCTUATION.match(after)):
            continue
        piece = nodes.inline(classes=["unbreakable"])
        formula.replace_self(piece)
        piece += [formula, nodes.Text(mark.group())]
        # By identity: texts compare by content, and an equal one may stand earlier in the paragraph.
        place = next(k for k, child in enumerate(after.parent) if child is after)
        after.parent[place] = nodes.Text(after[mark.end() :])


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


class LayOutFormulas(SphinxPostTransform):
    default_priority = 700

    def run(self, **options) -> None:
        join_punctuation(self.document)
        lift_displays(self.document)


def setup(app: Sphinx) -> dict:
    app.add_post_transform(LayOutFormulas)
    return {"version": "1", "parallel_read_safe": True}
