"""Digests of code, sealed files and records: nothing is lost, overwritten, or taken for what it is not."""

import dataclasses
import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.experiments.digests import ROOT, code_digests, dependencies, digest_of_source
from lib.experiments.record import Record, changes, planned
from lib.experiments.records import (
    RECORDS,
    NoRecord,
    latest,
    read_record,
    read_records,
    recorded,
    write_record,
)
from lib.experiments.sealed import seal, unseal
from tests.counting import COUNT, Counting

RUN = {
    "command": "python -m lib.experiments run counting",
    "started": "2026-01-01T00:00:00+00:00",
    "finished": "2026-01-01T00:00:05+00:00",
    "device": "cpu",
    "wall_time_s": 5.0,
    "compute_s": 9.0,
    "peak_memory_mib": 80.0,
    "hardware": [{"cores": 2}],
    "versions": [{"python": "3.13.0"}],
}


def filled(seeds, plan=None, offset=0, finished=RUN["finished"]):
    """A record whose metrics tell the seed."""
    metrics = tuple({"square": seed**2 + offset, "curve": [seed, 0.1]} for seed in seeds)
    run = {**RUN, "seeds": list(seeds), "finished": finished}
    plan = plan or planned(COUNT)
    return dataclasses.replace(plan, seeds=tuple(seeds), metrics=metrics, runs=(run,))


# Digests


@pytest.mark.parametrize(
    "same",
    [
        "def f(x):\n    return x + 1\n",
        '"""A module."""\n\n\ndef f(x):  # adds\n    """Add one."""\n    # one\n    return x + 1\n',
        'def f(x):\r\n    """Füge eins hinzu,\r\n    mit # und "."""\r\n    return x + 1',
        'def f(x):\n    "é"  # é\n    return x + 1',
    ],
)
def test_comments_and_docstrings_do_not_count(same):
    assert digest_of_source(same) == digest_of_source("def f(x):\n    return x + 1")


@pytest.mark.parametrize(
    "other",
    [
        "def f(x):\n    return x + 2",
        "def f(x):\n    return '# x + 1'",
        "def f(x):\n    x = '''text'''\n    return x + 1",
        "def f(y):\n    return x + 1",
        "def f(x):\n    pass\nvalue = x + 1",
    ],
)
def test_code_and_other_text_do_count(other):
    assert digest_of_source(other) != digest_of_source("def f(x):\n    return x + 1")


def package(folder):
    """A package: main imports near, near imports far in a function, aside is imported on the way only."""
    files = {
        "__init__": "from copied.aside import x",
        "main": "import numpy\nfrom copied import near\nfrom copied.near import g\n",
        "near": "def g():\n    from . import far\n    return far.h()\n",
        "far": "def h():\n    return 1\n",
        "aside": "x = 1\n",
    }
    (folder / "copied").mkdir()
    for name, text in files.items():
        (folder / "copied" / f"{name}.py").write_text(text)
    return folder / "copied"


def test_dependencies_are_found_without_running_them(tmp_path):
    package(tmp_path)
    assert set(dependencies("copied.main", [tmp_path])) == {"copied.main", "copied.near", "copied.far"}


@pytest.mark.parametrize(
    "text", ["from copied import x", "from copied import *", "import copied", "from . import x"]
)
def test_what_a_package_hands_on_counts_where_it_is_used(tmp_path, text):
    files = package(tmp_path)
    (files / "main.py").write_text(text)
    assert set(dependencies("copied.main", [tmp_path])) == {"copied.main", "copied", "copied.aside"}


@pytest.mark.parametrize("module", ["main", "near", "far"])
def test_a_change_far_away_is_noticed_and_an_unrelated_one_is_not(tmp_path, module):
    files = package(tmp_path)
    before = code_digests("copied.main", [tmp_path])
    (files / "aside.py").write_text("x = 2\n")
    (files / f"{module}.py").write_text((files / f"{module}.py").read_text() + "# a comment\n")
    assert code_digests("copied.main", [tmp_path]) == before
    (files / f"{module}.py").write_text((files / f"{module}.py").read_text() + "y = 3\n")
    after = code_digests("copied.main", [tmp_path])
    assert {name for name in before if before[name] != after[name]} == {f"copied.{module}"}


def test_all_that_python_loads_is_among_the_dependencies():
    module = "lib.claims.verify"
    script = f"import sys, {module}; print(*(name for name in sys.modules if name.startswith('lib.')))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {module, "lib.claims.ledger"} <= set(loaded.stdout.split()) <= set(dependencies(module))


# Sealed files


def test_a_sealed_file_is_never_overwritten(tmp_path):
    path = seal(tmp_path / "one.json", {"a": 1})
    with pytest.raises(FileExistsError):
        seal(path, {"a": 2})
    assert unseal(path) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["one.json"]


@given(place=st.integers(0, 10**6), how=st.sampled_from(["cut", "flip"]))
def test_every_damage_is_noticed_and_the_file_named(tmp_path_factory, place, how):
    path = tmp_path_factory.mktemp("sealed") / "one.json"
    text = bytearray(seal(path, {"loss": [0.25, 1 / 3], "name": "é"}).read_bytes())
    place %= len(text) - 2  # the last two are } and the end of the line
    path.write_bytes(
        text[:place] if how == "cut" else text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
    )
    try:
        content = unseal(path)
    except ValueError as error:
        assert str(path) in str(error)
    else:  # a change that JSON does not see, such as another white space
        assert content == {"loss": [0.25, 1 / 3], "name": "é"}


def test_a_writer_killed_at_any_moment_leaves_whole_files(tmp_path):
    script = (
        "import itertools, sys; from pathlib import Path; from lib.experiments.sealed import seal\n"
        "for count in itertools.count():\n"
        "    seal(Path(sys.argv[1]), {'count': count, 'numbers': [count] * 20000}, replace=True)\n"
    )
    path, chance = tmp_path / "one.json", random.Random(1)
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", script, str(path)], cwd=ROOT)
        path.unlink(missing_ok=True)
        while not path.exists():
            assert writer.poll() is None
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        content = unseal(path)
        assert content["numbers"] == [content["count"]] * 20000


# Records


def test_more_seeds_make_a_new_file_and_keep_the_old_one(tmp_path):
    first = write_record(filled([0, 1]), tmp_path)
    text = first.path.read_bytes()
    second = write_record(filled([1, 2], offset=0.5), tmp_path)
    assert second.seeds == (0, 1, 2) and list(second.values("square")) == [0, 1, 4.5]
    assert [run["seeds"] for run in second.runs] == [[0, 1], [2]]
    assert first.path.read_bytes() == text and second.path != first.path
    assert write_record(filled([0, 2]), tmp_path).path == second.path
    assert len(list(tmp_path.glob("counting/*.json"))) == 2


def test_a_record_is_read_as_it_was_written(tmp_path):
    written = write_record(filled([3, 5]), tmp_path)
    assert read_record(written.path) == written == latest(planned(COUNT), tmp_path)
    np.testing.assert_array_equal(written.values("curve"), [[3, 0.1], [5, 0.1]])
    ragged = dataclasses.replace(written, metrics=({"times": [1.0, 2.0]}, {"times": [3.0]}))
    assert list(ragged.values("times")) == [[1.0, 2.0], [3.0]]
    nested = dataclasses.replace(
        written, metrics=({"gap": {"loss": 1.0, "steps": 3}}, {"gap": {"loss": 2.0}})
    )
    assert nested.known_metrics() == ["gap.loss", "gap.steps"]
    assert list(nested.values("gap.loss")) == [1.0, 2.0] and list(nested.values("gap.steps")) == [3, None]
    with pytest.raises(ValueError, match="metric is 'los', allowed for counting: square, curve"):
        written.values("los")


def test_processes_that_write_at_once_all_get_on_record(tmp_path):
    script = (
        "import sys, time; from pathlib import Path\n"
        "from tests.experiments.test_records import filled\nfrom lib.experiments.records import write_record\n"
        "seed, folder = int(sys.argv[1]), Path(sys.argv[2])\n"
        "(folder / f'ready-{seed}').touch()\n"
        "while not (folder / 'go').exists(): time.sleep(0.001)\n"
        "write_record(filled([seed]), folder / 'records')\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(seed), str(tmp_path)], cwd=ROOT)
        for seed in range(4)
    ]
    while len(list(tmp_path.glob("ready-*"))) < 4:
        assert all(writer.poll() is None for writer in writers)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    assert [writer.wait() for writer in writers] == [0] * 4
    assert latest(planned(COUNT), tmp_path / "records").seeds == (0, 1, 2, 3)
    for path in (tmp_path / "records" / "counting").iterdir():
        assert read_record(path).seeds


def test_a_damaged_record_is_named(tmp_path):
    path = write_record(filled([0]), tmp_path).path
    path.write_text(path.read_text().replace('"square": 0', '"square": 7'))
    for read in (lambda: read_record(path), lambda: recorded("counting", folder=tmp_path)):
        with pytest.raises(ValueError, match=path.name):
            read()
    content = json.loads(path.read_text()) | {"config": {"scale": 2.0}}
    content.pop("checksum")
    seal(path, content, replace=True)
    with pytest.raises(ValueError, match="its key is not that of its configuration"):
        read_record(path)
    seal(path, {"some": "thing else"}, replace=True)
    with pytest.raises(ValueError, match="no record of format"):
        read_record(path)


def test_without_a_record_the_command_is_told(tmp_path):
    with pytest.raises(NoRecord, match=r"python -m lib\.experiments run counting --variant slow"):
        recorded("counting", "slow", tmp_path)
    with pytest.raises(ValueError, match="variant is 'slwo', allowed for counting: full, quick, slow"):
        recorded("counting", "slwo", tmp_path)


def test_the_record_of_the_present_code_comes_first_then_the_newest(tmp_path):
    plan = planned(COUNT)
    other = dataclasses.replace(plan, modules={**plan.modules, "lib.gone": "0" * 16})
    older = dataclasses.replace(plan, config={**plan.config, "scale": 3.0})
    write_record(filled([0], older, finished="2026-01-01T00:00:00+00:00"), tmp_path)
    write_record(filled([0], other, finished="2026-03-01T00:00:00+00:00"), tmp_path)
    newest = recorded("counting", folder=tmp_path)
    assert newest.stale() == ("lib.gone is not used now",)
    assert "stale" in str(newest).splitlines()[0] and "lib.gone is not used now" in newest._repr_html_()
    fresh = write_record(filled([0], finished="2026-02-01T00:00:00+00:00"), tmp_path)
    assert recorded("counting", folder=tmp_path) == fresh and fresh.stale() == ()
    assert [record.key for record in read_records("counting", "full", tmp_path)] == [
        older.key,
        plan.key,
        other.key,
    ]


def test_variants_whose_names_begin_alike_are_kept_apart(tmp_path):
    write_record(filled([0], planned(COUNT, "failing-once")), tmp_path)
    assert read_records("counting", "failing", tmp_path) == []
    assert len(read_records("counting", "failing-once", tmp_path)) == 1


def test_every_difference_is_told():
    plan = planned(COUNT)
    one, *others = plan.modules
    past = dataclasses.replace(
        plan, config={**plan.config, "scale": 3.0, "gone": 1}, modules={one: "0" * 16, "lib.gone": "1" * 16}
    )
    assert changes(past, COUNT) == (
        "scale was 3.0, is 1.0",
        "gone was 1, is not there",
        *sorted([f"{one} changed", "lib.gone is not used now", *(f"{name} is used now" for name in others)]),
    )
    assert changes(plan, dataclasses.replace(COUNT, full=Counting(scale=1.5))) == ("scale was 1.0, is 1.5",)


def test_the_same_configuration_has_the_same_key_everywhere():
    plan = planned(COUNT)
    assert plan.key != planned(COUNT, "quick").key
    assert (
        plan.key
        == Record(plan.name, "other title", "alias", dict(reversed(plan.config.items())), plan.modules).key
    )


def test_provenance_is_shown_as_text_and_folded_in_a_page(tmp_path):
    failed = {
        "seed": 9,
        "error": "ValueError: a < b & c",
        "traceback": "...",
        "attempts": 1,
        "date": "2026-01-01",
    }
    record = write_record(dataclasses.replace(filled([0, 1]), failures=(failed,)), tmp_path)
    page = record._repr_html_()
    assert page.startswith("<details") and "a &lt; b &amp; c" in page
    assert f'<table id="{record.anchor}">' in page and record.anchor == "record-counting-full"
    for shown in (
        "Recorded counting: 2 seeds, 1 failed, 2026-01-01",
        RUN["command"],
        "80 MiB",
        record.path.name,
    ):
        assert shown in page and shown in str(record)
    assert str(tmp_path) not in page


@pytest.mark.parametrize("path", sorted(RECORDS.glob("**/*.json")), ids=lambda path: path.stem)
def test_what_is_on_record_is_whole_small_and_names_no_machine(path):
    record = read_record(path)
    text = path.read_text(encoding="utf-8")
    assert path.parent.name == record.name and path.stem.startswith(f"{record.variant}-{record.key}-")
    assert len(text) < 200_000
    for private in (str(Path.home()), str(ROOT), os.sep + "tmp" + os.sep):
        assert private not in text
    assert platform.node() == "localhost" or f'"{platform.node()}"' not in text
