"""The list of seeded bugs fits the code."""

import pytest

from tests.mutations.__main__ import ROOT, read_bugs

BUGS = read_bugs()


@pytest.mark.parametrize("bug", BUGS, ids=[bug.id for bug in BUGS])
def test_every_bug_has_its_line_and_changes_it(bug):
    source = (ROOT / bug.file).read_text(encoding="utf-8")
    assert bug.applied(source) != source


def test_every_bug_has_its_own_name():
    assert len({bug.id for bug in BUGS}) == len(BUGS)
