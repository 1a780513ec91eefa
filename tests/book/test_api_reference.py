"""The API reference: each package has a page, and the names at its head are there."""

import importlib
import re

import pytest
from api_reference import BLOCK, modules_of

from tests.book.test_book import BOOK, ROOT

LISTED = {
    module: page.stem
    for page in sorted((BOOK / "api").glob("*.md"))
    for block in BLOCK.finditer(page.read_text(encoding="utf-8"))
    for name in block[1].split()
    for module in modules_of(name)
}
HEAD = re.findall(r"\{py:(\w+)\}`~([\w.]+)`", (BOOK / "api.md").read_text(encoding="utf-8"))


def test_every_module_of_lib_and_of_the_experiments_is_on_a_page_and_each_page_in_the_index():
    paths = [*ROOT.glob("lib/**/[a-z]*.py"), *ROOT.glob("experiments/[a-z]*.py")]
    found = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    assert found == {name for name in LISTED if name.startswith(("lib.", "experiments."))}
    linked = set(re.findall(r"\(api/(\w+)\.md\)", (BOOK / "api.md").read_text(encoding="utf-8")))
    assert linked == set(LISTED.values()) == {page.stem for page in (BOOK / "api").glob("*.md")}


def test_there_are_twenty_five_names_to_begin_with():
    assert len(HEAD) == len(set(HEAD)) == 25


@pytest.mark.parametrize(("role", "name"), HEAD, ids=[name for _, name in HEAD])
def test_a_name_to_begin_with_is_there_and_says_what_it_does(role, name):
    module, _, short = name.rpartition(".")
    found = getattr(importlib.import_module(module), short)
    assert {"class": isinstance(found, type), "func": callable(found), "data": True}[role]
    assert role == "data" or found.__module__ == module, "named where it is defined"
    assert found.__doc__
