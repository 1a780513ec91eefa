"""Keeps punctuation on the line of the formula before it: browsers may break between the two."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

PUNCTUATION = re.compile(r"[.,;:!?)\]’”]+|-[a-z]+")


class JoinPunctuation(SphinxPostTransform):
    """Wraps an inline formula and the punctuation after it in one unbreakable piece."""

    default_priority = 700

    def run(self, **options) -> None:
        for formula in list(self.document.findall(nodes.math)):
            after = formula.next_node(descend=False, siblings=True)
            if not isinstance(after, nodes.Text) or not (mark := PUNCTUATION.match(after)):
                continue
            piece = nodes.inline(classes=["unbreakable"])
            formula.replace_self(piece)
            piece += [formula, nodes.Text(mark.group())]
            after.parent.replace(after, nodes.Text(after[mark.end() :]))


def setup(app: Sphinx) -> dict:
    app.add_post_transform(JoinPunctuation)
    return {"version": "1", "parallel_read_safe": True}
