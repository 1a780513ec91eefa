"""Makes classic scripts of the site's modules, so that a page also works when it is opened from the disk.

Browsers load modules over http only.  The modules stay the source, and what the tests import; every page
gets, in the place of a module, one classic script that holds it and what it imports.
"""

from __future__ import annotations

import re
from pathlib import Path

from look import after_build, on_page
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

TAG = re.compile(r'<script type="module" src="[./]*(_static/[^"]+)\.js"></script>')
IMPORT = re.compile(r'^import \{([^{}]*)\} from "(\.[^"]*)";$', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.M)
REST = re.compile(r"^\s*(?:import|export)\b.*", re.M)
# The search page fetches an excerpt for every hit, which browsers allow over http only.
NO_EXCERPTS = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'


def classic(entry: Path) -> str:
    """Return the module at ``entry``, with all it imports, as one script that needs no module loader.

    Each module becomes a function that is called once and returns what the module exports.  Raises
    ``ExtensionError`` for a form of import or export other than named imports and exported declarations.
    """
    names: dict[Path, str] = {}
    parts: list[str] = []

    def add(path: Path) -> str:
        if path in names:
            return names[path]

        def destructured(found: re.Match) -> str:
            wanted = re.sub(r"\s+as\s+", ": ", found[1].strip())
            return f"const {{ {wanted} }} = {add((path.parent / found[2]).resolve())};"

        source = path.read_text(encoding="utf-8")
        exported = EXPORT.findall(source)
        body = EXPORT.sub("", IMPORT.sub(destructured, source))
        if rest := REST.search(body):
            raise ExtensionError(f"{path.name}: no classic script can be made of {rest[0].strip()!r}")
        names[path] = f"module_{len(names)}"
        parts.append(f"const {names[path]} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n")
        return names[path]

    add(entry.resolve())
    return "".join(['"use strict";\n(() => {\n', *parts, "})();\n"])


def replace_modules(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Let the page load classic scripts where it asks for modules.

    What follows waits for them: it would move when a figure takes the place of its picture.
    """

    def script(found: re.Match) -> str:
        return f'<script src="{context["pathto"](f"{found[1]}.classic.js", 1)}"></script>'

    context["body"] = TAG.sub(script, context.get("body", ""))
    if pagename == "search":
        app.add_js_file(None, body=NO_EXCERPTS)


def write_scripts(app: Sphinx) -> None:
    """Write ``name.classic.js`` beside every module of the site."""
    for folder in app.config.html_static_path:
        source = Path(app.confdir, folder)
        for module in source.rglob("*.js"):
            target = Path(app.outdir, "_static", module.relative_to(source)).with_suffix(".classic.js")
            target.write_text(classic(module), encoding="utf-8")


def setup(app: Sphinx) -> None:
    on_page(app, replace_modules)
    after_build(app, write_scripts)
