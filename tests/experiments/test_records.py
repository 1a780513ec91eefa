"""Records: what they keep, when they are stale, and that nothing is lost or taken for what it is not."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from lib.experiments import combes2018, min2024, pezeshki2021, sarussi2021
from lib.experiments.comparison import differences, to_scale
from lib.experiments.records import (
    DIGITS,
    RECORDS,
    ROOT,
    NoRecord,
    Record,
    fingerprint,
    gather,
    journal_of,
    recorded,
    run_seed,
    save,
    seeds_in,
)
from lib.experiments.registry import REGISTRY, computed, find, load, plain, quick, rounded
from tests import counting
from tests.counting import COUNT, Counting, calls

COMMITTED = sorted(RECORDS.glob("*/*.json"))
RUN = {"command": "python -m lib.experiments run counting", "device": "cpu"}


@pytest.fixture(autouse=True)
def afresh(tmp_path, monkeypatch):
    """Nothing is known of other tests, and there are no files of the reader."""
    monkeypatch.setenv("COUNTING", str(tmp_path))
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    monkeypatch.delenv("LEARNING_DYNAMICS_CATS_DOGS", raising=False)
    computed.cache_clear()
    yield
    computed.cache_clear()


def filled(seeds, variant="full", offset=0):
    """A record whose metrics tell the seed."""
    metrics = [{"square": seed**2 + offset, "curve": [seed, 0.1]} for seed in seeds]
    run = RUN | {"seeds": list(seeds), "finished": "2026-01-01T00:00:05+00:00", "wall_time_s": 5.0}
    config, today = plain(COUNT.config(variant)), fingerprint(COUNT, variant)
    return Record("counting", "Counts its calls", variant, config, list(seeds), metrics, [run], today)


def write(record, folder):
    """The record as it is read back from a file."""
    save(folder / record.name / f"{record.variant}.json", vars(record))
    return recorded(record.name, record.variant, folder)


def finish(folder, *seeds, variant="full"):
    """Run seeds of the counting experiment into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [run_seed(COUNT, variant, seed, "cpu", RUN, folder) for seed in seeds]


# The records of the book


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_record_of_the_book_is_good_without_any_files_of_the_reader(path):
    record = recorded(path.parent.name, path.stem)
    assert record.stale() == []
    assert (record.name, record.variant) == (path.parent.name, path.stem)
    assert sorted(seed for run in record.runs for seed in run["seeds"]) == record.seeds
    assert len(record.seeds) == len(record.metrics)
    assert path.stat().st_size < 200_000 and len(COMMITTED) == 17


@pytest.mark.parametrize(
    ("name", "variant", "module", "attribute", "changed"),
    [
        ("combes2018-table-2", "test-split", combes2018, "BRIGHT", 120),
        ("min2024-figure-5", "test-split", min2024, "SIGNS", ("negative", "positive")),
        ("pezeshki2021-table-1", "test-split-expected", pezeshki2021, "LABEL_NOISE", 0.24),
        ("sarussi2021-table", "test-split", sarussi2021, "sharp_factor", lambda slope, k: 1.9),
    ],
)
def test_a_number_changed_in_the_code_makes_a_record_stale(
    monkeypatch, name, variant, module, attribute, changed
):
    monkeypatch.setattr(module, attribute, changed)
    [first, *_] = recorded(name, variant).stale()
    assert first.startswith("fingerprint.metrics.") and " was " in first


@pytest.mark.parametrize("name", ["min2024-figure-5", "min2024-figure-12"])
def test_the_tolerance_is_what_rounding_in_single_precision_needs(name):
    """These draw in double precision whatever the networks have: only the arithmetic differs."""
    experiment = find(name)
    config = experiment.fingerprint_of(experiment.config("test-split"))
    exact = dataclasses.replace(config, precision="float64")
    [single], [double] = (experiment.run(one, (0,), "cpu") for one in (config, exact))
    assert single != double
    assert not [*differences(to_scale(single), to_scale(double), digits=DIGITS)]


# Staleness, and what a record shows


def test_a_record_is_stale_when_configuration_or_code_have_changed(tmp_path, monkeypatch):
    record = write(filled((0, 1)), tmp_path)
    assert record.stale() == [] and str(record) == "Recorded counting: 2 seeds, 2026-01-01"
    monkeypatch.setitem(REGISTRY, "counting", dataclasses.replace(COUNT, full=Counting(scale=2.0)))
    assert record.stale() == ["scale was 1.0, is 2.0"]
    # What is set is compared exactly, what is computed to four digits.
    monkeypatch.setitem(REGISTRY, "counting", dataclasses.replace(COUNT, full=Counting(scale=1.00001)))
    assert record.stale() == ["scale was 1.0, is 1.00001"]
    other = dataclasses.replace(COUNT, fingerprint_of=lambda config: Counting(scale=1.00001))
    monkeypatch.setitem(REGISTRY, "counting", other)
    assert record.stale()[0] == "fingerprint.config.scale was 1.0, is 1.00001"
    monkeypatch.setitem(REGISTRY, "counting", COUNT)
    computed.cache_clear()
    monkeypatch.setattr(counting, "POWER", 3)
    assert record.stale() == ["fingerprint.metrics.curve[1] was 0.3333, is 0.25"]
    assert str(record).endswith("; stale: the code or the configuration has changed since")
    assert "fingerprint.metrics.curve[1]" in record._repr_html_()


def test_a_page_shows_all_that_is_known_of_the_runs():
    run = {"hardware": [{"cores": 2}], "wall_time_s": 5.0, "commit": "", "finished": "2026-01-01"}
    shown = dataclasses.replace(filled((0, 1), "slow"), title="<b>", runs=[run, run])._repr_html_()
    assert "<summary>Recorded counting (slow): 2 seeds, 2026-01-01</summary>" in shown
    assert "<th>Experiment</th><td>&lt;b&gt;</td>" in shown and "<td>scale 1.0, pause 0.3, " in shown
    assert (
        shown.count("<th>Hardware</th><td>cores 2</td>") == shown.count("<th>Time, s</th><td>5.0</td>") == 2
    )
    assert "Commit" not in shown and 'id="record-counting-slow"' in shown


def test_values_are_one_a_seed_also_within_dictionaries():
    record = filled((0, 2, 3))
    assert record.values("square").tolist() == [0, 4, 9] and record.values("curve").shape == (3, 2)
    inner = dataclasses.replace(record, metrics=[{"a": {"b": seed}} for seed in record.seeds])
    assert inner.values("a.b").tolist() == [0, 2, 3]


# Files


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(NoRecord, match=r"python -m lib.experiments run counting --variant slow$"):
        recorded("counting", "slow", tmp_path)
    with pytest.raises(ValueError, match="name is 'countin', allowed: 'boursier2022-figure-6', "):
        recorded("countin", folder=tmp_path)
    with pytest.raises(ValueError, match="variant is 'slwo', allowed: 'full', 'quick', 'slow'"):
        recorded("counting", "slwo", tmp_path)


def test_a_file_that_is_replaced_again_and_again_is_whole_when_its_writer_is_killed(tmp_path):
    path = tmp_path / "one.json"
    script = (
        "import sys, pathlib; from lib.experiments.records import save\n"
        "for k in range(10**9): save(pathlib.Path(sys.argv[1]), {'k': k, 'long': [k] * 20000})"
    )
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", script, path], cwd=ROOT)
        while not path.exists():
            time.sleep(0.01)
        time.sleep(random.Random(os.getpid()).uniform(0, 0.2))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        content = json.loads(path.read_text())
        assert set(content["long"]) == {content["k"]} and len(content["long"]) == 20000


@pytest.mark.parametrize("returned", [[{"loss": np.nan}], [{"loss": np.ones(1)}], [], None])
def test_metrics_that_cannot_be_recorded_are_a_failure_that_leaves_no_half_written_file(returned, tmp_path):
    faulty = dataclasses.replace(COUNT, run=lambda config, seeds, device: returned)
    entry = run_seed(faulty, "full", 0, "cpu", RUN, tmp_path)
    assert "metrics" not in entry and entry["error"].split(":")[0] in ("ValueError", "TypeError")
    assert seeds_in(tmp_path)[0]["error"] == entry["error"] and len([*tmp_path.iterdir()]) == 1


# From the journal to the record


def test_of_a_seed_on_record_the_values_stay_and_only_new_seeds_count_for_a_run(tmp_path):
    folder = tmp_path / "journal"
    write(filled((1, 2), offset=100), tmp_path)
    finish(folder, 1, 0)
    record = gather(COUNT, "full", folder, tmp_path)
    assert record.values("square").tolist() == [0, 101, 104] and record.seeds == [0, 1, 2]
    assert [run["seeds"] for run in record.runs] == [[1, 2], [0]]
    assert gather(COUNT, "full", folder, tmp_path) == record == recorded("counting", folder=tmp_path)


def test_runs_on_different_machines_are_told_apart(tmp_path):
    folder = tmp_path / "journal"
    entries = finish(folder, 0, 1, 2)
    entries[1]["run"]["hardware"]["cores"] = 1024
    save(folder / "1.json", entries[1])
    times = {"begun": 100.0, "ended": 103.0}, {"begun": 101.5, "ended": 108.0}
    for seed, spent in zip((0, 2), times, strict=True):
        save(folder / f"{seed}.json", entries[seed] | spent | {"peak_memory_mib": 80.0 + seed})
    first, second = gather(COUNT, "full", folder, tmp_path).runs
    assert (first["seeds"], second["seeds"]) == ([0, 2], [1])
    assert (first["wall_time_s"], first["compute_s"], first["peak_memory_mib"]) == (8.0, 9.5, 82.0)
    assert first["finished"] == "1970-01-01T00:01:48+00:00"


def test_a_stale_record_is_replaced_and_seeds_of_other_code_are_left_alone(tmp_path, monkeypatch):
    journal = tmp_path / "journal"
    before = journal_of(COUNT, "full", journal)
    finish(before, 0, 1)
    assert gather(COUNT, "full", before, tmp_path).seeds == [0, 1]
    computed.cache_clear()
    monkeypatch.setattr(counting, "POWER", 3)
    after = journal_of(COUNT, "full", journal)
    assert after != before and gather(COUNT, "full", after, tmp_path).seeds == []
    assert recorded("counting", folder=tmp_path).seeds == [0, 1]
    finish(after, 2)
    record = gather(COUNT, "full", after, tmp_path)
    assert record.seeds == [2] and record.values("square").tolist() == [8] and record.stale() == []


# The registry


def test_the_books_seed_moves_the_seeds_of_a_quick_run(monkeypatch):
    monkeypatch.setenv("BOOK_SEED", "1")
    assert [metrics["curve"][0] for metrics in quick("counting", [0, 3])] == [10**6, 10**6 + 3]


def test_a_quick_experiment_runs_once_and_what_a_caller_changes_is_its_own():
    first = quick("counting", range(3))
    first[0]["square"] = "changed"
    assert quick("counting")[0]["square"] == 0
    assert [len(calls(seed)) for seed in range(4)] == [1, 1, 1, 0]


def test_pages_share_what_is_computed_as_long_as_the_code_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("LEARNING_DYNAMICS_COMPUTED", str(tmp_path / "computed"))
    (tmp_path / "constraints.txt").write_text("other versions")
    script = (
        "import sys, pathlib, tests.counting, lib.experiments.registry as r\n"
        "r.ROOT = pathlib.Path(sys.argv[1])\nprint(r.quick('counting', [5]))"
    )
    for root, often in ((ROOT, 1), (ROOT, 1), (tmp_path, 2)):
        command = [sys.executable, "-c", script, root]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
        assert len(calls(5)) == often and "2.5" in told


def test_numbers_are_rounded_wherever_they_stand():
    given = {"a": (1.23456, None, "b"), "c": np.array([123456.0, 7.0]), "d": 10**6}
    assert rounded(given) == {"a": [1.235, None, "b"], "c": [123500.0, 7.0], "d": 10**6}


def test_every_experiment_is_found_by_its_name_without_those_of_other_papers():
    for name, experiment in load().items():
        assert find(name) is experiment and experiment.name == name
    script = (
        "import sys; from lib.experiments.registry import find; find('boursier2022-figure-6')\n"
        "print(*(name for name in sys.modules if name.startswith('lib.experiments.')))"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True).stdout
    assert set(told.split()) == {"lib.experiments.registry", "lib.experiments.boursier2022"}
