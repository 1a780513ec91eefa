"""Keeps punctuation on the line of the formula before it: browsers may break between the two."""

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


class JoinPunctuation(SphinxPostTransform):
    default_priority = 700

    def run(self, **options) -> None:
        join_punctuation(self.document)


def setup(app: Sphinx) -> dict:
    app.add_post_transform(JoinPunctuation)
    return {"version": "1", "parallel_read_safe": True}
