"""The list of seeded bugs fits the code."""

import pytest

from tests.mutations import __main__ as mutations
from tests.mutations.__main__ import ROOT, read_bugs

BUGS = read_bugs()


@pytest.mark.parametrize("bug", BUGS, ids=[bug.id for bug in BUGS])
def test_every_bug_has_its_line_and_changes_it(bug):
    source = (ROOT / bug.file).read_text(encoding="utf-8")
    assert bug.applied(source) != source


@pytest.mark.parametrize("bug", BUGS, ids=[bug.id for bug in BUGS])
def test_the_tests_of_every_bug_are_there(bug):
    files = [each.partition("::")[0] for each in bug.tests if "/" in each]
    assert files and all((ROOT / file).exists() for file in files)


def test_a_bug_that_cannot_be_tried_stops_no_other_and_fails_in_the_end(monkeypatch, capsys):
    fates = {BUGS[0].id: RuntimeError("no tests ran"), BUGS[1].id: True, BUGS[2].id: False}

    def survives(bug, copy):
        if isinstance(fates[bug.id], Exception):
            raise fates[bug.id]
        return fates[bug.id]

    monkeypatch.setattr(mutations, "survives", survives)
    assert mutations.main([*fates]) == 1
    told = capsys.readouterr().out
    assert "no tests ran" in told and told.count("\nnoticed") == 1
    assert f"1 of 3 seeded bugs noticed; {BUGS[0].id} BROKEN; {BUGS[1].id} SURVIVED" in told


def test_every_bug_has_its_own_name():
    assert len({bug.id for bug in BUGS}) == len(BUGS)
