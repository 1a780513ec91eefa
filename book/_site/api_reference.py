"""Lists the modules of a package on its page of the API reference, so that a page names none by hand.

In a page's source a block ``{modules} lib.flow`` stands for a section on each module of that package; what is
no package stands for itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from look import Context, on_page
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```\{modules\} (.+)\n```$", re.MULTILINE)
# A list of definitions without a term, which HTML does not allow.
PARAMETERS = '<dl>\n<dd><em class="sig-param">'
SECTION = """## {name}

```{{eval-rst}}
.. automodule:: {name}
   :members:
```
"""


def modules_of(name: str) -> list[str]:
    """The public modules of a package of the book, in alphabetical order; a module is its own."""
    folder = ROOT.joinpath(*name.split("."))
    return [f"{name}.{path.stem}" for path in sorted(folder.glob("[a-z]*.py"))] if folder.is_dir() else [name]


def sections(block: re.Match) -> str:
    return "\n".join(SECTION.format(name=module) for name in block[1].split() for module in modules_of(name))


def list_modules(app: Sphinx, docname: str, content: list[str]) -> None:
    content[0] = BLOCK.sub(sections, content[0])


def list_parameters(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    """Say that the lines of a long signature only look like definitions."""
    body = context.get("body", "")
    context["body"] = body.replace(PARAMETERS, PARAMETERS.replace("<dl>", '<dl role="presentation">'))


def adopt(app: Sphinx, doctree: nodes.document) -> None:
    """Let what reStructuredText has made belong to the page: its own document holds the whole environment."""
    for node in doctree.findall():
        node.document = doctree


def setup(app: Sphinx) -> None:
    on_page(app, list_parameters)
    app.connect("doctree-read", adopt)
    app.connect("source-read", list_modules)
