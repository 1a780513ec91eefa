"""What a page says of itself: on paper where it is from, and a chapter how to run, cite and correct it."""

from __future__ import annotations

import json
from html import escape

from docutils import nodes
from look import on_page, render
from markupsafe import Markup
from provenance import LICENCE, citation, commit, now, report_address, repository
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.run.execution import page_keys, seconds_taken


def is_chapter(env: BuildEnvironment, docname: str) -> bool:
    """Whether a page is a chapter of a part: one that is executed and is about one result."""
    return docname in page_keys(env) and docname.count("/") > 1


def number_of(env: BuildEnvironment, docname: str) -> str:
    """The number of a chapter, as its title shows it; empty for a page without one."""
    return ".".join(map(str, env.toc_secnumbers.get(docname, {}).get("", ())))


def address_of(app: Sphinx, docname: str) -> str:
    """The address of a page on the web; empty if the site's is not known."""
    base = app.config.html_baseurl
    return f"{base}{app.builder.get_target_uri(docname)}" if base else ""


def bibtex(app: Sphinx, docname: str) -> str:
    """The entry of a chapter for a bibliography."""
    authors = " and ".join(f"{{{author['name']}}}" for author in citation()["authors"])
    fields = {
        "title": app.env.titles[docname].astext(),
        "author": authors,
        "booktitle": app.config.html_title,
        "chapter": number_of(app.env, docname),
        "year": str(now().year),
        "url": address_of(app, docname),
        "note": f"Commit {commit()}",
    }
    lines = [f"  {name:<9} = {{{value}}}" for name, value in fields.items() if value]
    key = docname.partition("/")[2].replace("/", ":")
    return "\n".join([f"@incollection{{learning-dynamics:{key},", ",\n".join(lines), "}"])


def origin(app: Sphinx, docname: str) -> list[str]:
    """Where a page is from: its address, the day and the commit of the build, and the licence."""
    parts = [address_of(app, docname), f"{now():%Y-%m-%d}, commit {commit()}", LICENCE]
    return [part for part in parts if part]


def running_heads(app: Sphinx, docname: str) -> str:
    """The style sheet that writes on every printed page what it belongs to."""
    number, title = number_of(app.env, docname), app.env.titles[docname].astext()
    texts = {
        "book": app.config.html_title,
        "title": f"{number}. {title}" if number else title,
        "origin": " · ".join(origin(app, docname)),
    }
    # What JSON writes as a text a style sheet reads as one; a tag must not end the sheet.
    quoted = {name: json.dumps(text, ensure_ascii=False) for name, text in texts.items()}
    return render(
        "running_heads.html", **{name: Markup(text.replace("<", r"\3c ")) for name, text in quoted.items()}
    )


def imprint(app: Sphinx, docname: str) -> str:
    """The line under the title on paper."""
    number = number_of(app.env, docname)
    book = f"Chapter {number} of {app.config.html_title}" if number else app.config.html_title
    return f'<p class="imprint">{escape(" · ".join([book, *origin(app, docname)]))}</p>\n'


def run_time(env: BuildEnvironment, docname: str) -> str:
    """How long a page ran when it was last executed, in whole seconds and at least one."""
    return f"{max(1, round(seconds_taken(env, docname)))} s"


def foot(app: Sphinx, docname: str, buttons: list[dict]) -> str:
    """How to run, cite and correct a chapter; ``buttons`` are those of the theme, which knows Binder's."""
    launching = [
        one for group in buttons if group.get("label") == "launch-buttons" for one in group["buttons"]
    ]
    name, title = docname.rpartition("/")[2], app.env.titles[docname].astext()
    body = f"Page: {docname}, commit {commit()}\n\nWhat is wrong, and a cell that shows it:\n"
    return render(
        "foot.html",
        notebook=f"{'../' * docname.count('/')}_sources/{docname}.ipynb",
        binder=[one["url"] for group in launching for one in group if one["text"] == "Binder"],
        to_run=app.builder.get_relative_uri(docname, "book/run_it"),
        bibtex=bibtex(app, docname),
        report=report_address(f"{name}: {title}", body) if repository() else "",
    )


def write(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document) -> None:
    """Put the running heads into the head of a page, and the rest under its title and at its foot."""
    if doctree is None:
        return
    context["metatags"] = context.get("metatags", "") + running_heads(app, pagename)
    under = imprint(app, pagename)
    actions = []
    if is_chapter(app.env, pagename):
        app.add_js_file("cite.classic.js", defer="defer")
        actions.append('<a href="#run-cite-correct">Run · Cite · Correct</a>')
        context["body"] += foot(app, pagename, context.get("header_buttons", []))
    if pagename in page_keys(app.env):
        actions.append(f'<span class="run-time">Runs in {run_time(app.env, pagename)}</span>')
        under += f'<p class="chapter-actions">{" ".join(actions)}</p>\n'
    context["body"] = context["body"].replace("</h1>\n", f"</h1>\n{under}", 1)


def setup(app: Sphinx) -> None:
    app.add_css_file("paper.css", media="print", priority=901)
    on_page(app, write)
