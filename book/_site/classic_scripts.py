"""Makes classic scripts of the site's modules, so that a page also works when it is opened from the disk.

Browsers load modules over http only.  The modules stay the source, and what the tests import; every page
gets, in the place of a module, one classic script that holds it and what it imports.  After the frame of a
live figure stands the module of its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from docutils import nodes
from look import Context, after_build, on_page
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

FRAME = re.compile(r'<div class="live-figure"[^>]* data-live="(\w+)"[^>]*>[^<]*</div>')
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

        def destructured(statement: re.Match) -> str:
            wanted = re.sub(r"\s+as\s+", ": ", statement[1].strip())
            return f"const {{ {wanted} }} = {add((path.parent / statement[2]).resolve())};"

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


def sources(app: Sphinx) -> Iterator[tuple[Path, Path]]:
    """The folders of the site's scripts, with the modules in each."""
    for folder in (Path(app.confdir, name) for name in app.config.html_static_path):
        yield from ((folder, module) for module in folder.rglob("*.js"))


def with_classic(body: str, page: str, modules: Collection[str], pathto: Callable[[str, int], str]) -> str:
    """Return the body of a page with classic scripts where it has frames, or asks for modules.

    What follows waits for them: it would move when a figure takes the place of its picture.  Raises
    ``ValueError`` for a frame or a module that is none of the site's ``modules``, or written otherwise.
    """

    def script(tag: re.Match) -> str:
        if tag[1] not in modules:
            raise ValueError(f"{page} asks for {tag[1]}.js, allowed: a module of the site")
        return f'<script src="{pathto(f"{tag[1]}.classic.js", 1)}"></script>'

    framed, frames = FRAME.subn(r'\g<0><script type="module" src="_static/live/\1.js"></script>', body)
    changed = TAG.sub(script, framed)
    if frames != body.count(' data-live="') or 'type="module"' in changed:
        raise ValueError(
            f"{page} has a frame or a module that is not written as {FRAME.pattern} or {TAG.pattern}"
        )
    return changed


def replace_modules(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    modules = {f"_static/{module.relative_to(folder).with_suffix('')}" for folder, module in sources(app)}
    context["body"] = with_classic(context.get("body", ""), page, modules, context["pathto"])
    if page == "search":
        app.add_js_file(None, body=NO_EXCERPTS)


def write_scripts(app: Sphinx) -> None:
    """Write ``name.classic.js`` beside every module of the site."""
    for folder, module in sources(app):
        target = Path(app.outdir, "_static", module.relative_to(folder)).with_suffix(".classic.js")
        target.write_text(classic(module), encoding="utf-8")


def setup(app: Sphinx) -> None:
    on_page(app, replace_modules)
    after_build(app, write_scripts)
