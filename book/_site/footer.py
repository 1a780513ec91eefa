"""What a page says of itself: on paper where it is from, and a chapter how to run, cite and correct it."""

from __future__ import annotations

import json
from html import escape

from docutils import nodes
from look import Context, on_page, render
from markupsafe import Markup
from provenance import LICENCE, citation, commit, now, report_address, repository
from questions import duration, minutes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.run.execution import page_keys, seconds_taken


def is_chapter(env: BuildEnvironment, page: str) -> bool:
    """Whether a page is a chapter of a part: one that is executed and is about one result."""
    return page in page_keys(env) and page.count("/") > 1


def number_of(env: BuildEnvironment, page: str) -> str:
    """The number of a chapter, as its title shows it; empty for a page without one."""
    return ".".join(map(str, env.toc_secnumbers.get(page, {}).get("", ())))


def address_of(app: Sphinx, page: str) -> str:
    """The address of a page on the web; empty if the site's is not known."""
    base = app.config.html_baseurl
    return f"{base}{app.builder.get_target_uri(page)}" if base else ""


def bibtex(app: Sphinx, page: str) -> str:
    """The entry of a chapter for a bibliography."""
    authors = " and ".join(f"{{{author['name']}}}" for author in citation()["authors"])
    fields = {
        "title": app.env.titles[page].astext(),
        "author": authors,
        "booktitle": app.config.html_title,
        "chapter": number_of(app.env, page),
        "year": str(now().year),
        "url": address_of(app, page),
        "note": f"Commit {commit()}",
    }
    lines = [f"  {name:<9} = {{{value}}}" for name, value in fields.items() if value]
    key = page.partition("/")[2].replace("/", ":")
    return "\n".join([f"@incollection{{learning-dynamics:{key},", ",\n".join(lines), "}"])


def origin(app: Sphinx, page: str) -> str:
    """Where a page is from: its address, the day and the commit of the build, and the licence."""
    parts = [address_of(app, page), f"{now():%Y-%m-%d}, commit {commit()}", LICENCE]
    return " · ".join(filter(None, parts))


def running_heads(app: Sphinx, page: str) -> str:
    """The style sheet that writes on every printed page what it belongs to."""
    number, title = number_of(app.env, page), app.env.titles[page].astext()
    heads = {"title": f"{number}. {title}" if number else title, "origin": origin(app, page)}
    texts = {"book": app.config.html_title, **heads}
    # What JSON writes as a text a style sheet reads as one; a tag must not end the sheet.
    quoted = {key: json.dumps(text, ensure_ascii=False).replace("<", r"\3c ") for key, text in texts.items()}
    return render("running_heads.html", **{key: Markup(text) for key, text in quoted.items()})


def imprint(app: Sphinx, page: str) -> str:
    """The line under the title on paper."""
    number = number_of(app.env, page)
    book = f"Chapter {number} of {app.config.html_title}" if number else app.config.html_title
    return f'<p class="imprint">{escape(f"{book} · {origin(app, page)}")}</p>\n'


def run_time(env: BuildEnvironment, page: str) -> str:
    """How long a page ran when it was last executed, in whole seconds and at least one."""
    return f"{max(1, round(seconds_taken(env, page)))} s"


def foot(app: Sphinx, page: str, buttons: list[dict]) -> str:
    """How to run, cite and correct a chapter; ``buttons`` are those of the theme, which knows Binder's."""
    groups = [group["buttons"] for group in buttons if group.get("label") == "launch-buttons"]
    body = f"Page: {page}, commit {commit()}\n\nWhat is wrong, and a cell that shows it:\n"
    title = f"{page.rpartition('/')[2]}: {app.env.titles[page].astext()}"
    return render(
        "foot.html",
        notebook=f"{'../' * page.count('/')}_sources/{page}.ipynb",
        binder=[button["url"] for group in groups for button in group if button["text"] == "Binder"],
        to_run=app.builder.get_relative_uri(page, "book/run_it"),
        bibtex=bibtex(app, page),
        report=report_address(title, body) if repository() else "",
    )


def write(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    """Put the running heads into the head of a page, and the rest under its title and at its foot.

    Raises ``ValueError`` for a page without a title.
    """
    if doctree is None:
        return
    context["metatags"] = context.get("metatags", "") + running_heads(app, page)
    under, actions, foot_of_page = imprint(app, page), [], ""
    if is_chapter(app.env, page):
        app.add_js_file("cite.classic.js", defer="defer")
        actions.append('<a href="#run-cite-correct">Run · Cite · Correct</a>')
        foot_of_page = foot(app, page, context.get("header_buttons", []))
    if page in page_keys(app.env):
        times = f"Read in {duration(minutes(app.env, [page]))}, runs in {run_time(app.env, page)}"
        actions.append(f'<span class="run-time">{times}</span>')
        under += f'<p class="chapter-actions">{" ".join(actions)}</p>\n'
    before, title, after = context["body"].partition("</h1>\n")
    if not title:
        raise ValueError(f"{page} has no title, allowed: pages with a line that ends in </h1>")
    context["body"] = before + title + under + after + foot_of_page


def setup(app: Sphinx) -> None:
    app.add_css_file("paper.css", media="print", priority=901)
    on_page(app, write)
