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
from hypothesis import given
from hypothesis import strategies as st

from lib.experiments import combes2018, min2024, pezeshki2021, registry, sarussi2021
from lib.experiments.records import (
    RECORDS,
    ROOT,
    NoRecord,
    Record,
    differences,
    fingerprint,
    gather,
    journal_of,
    read_record,
    recorded,
    run_seed,
    save,
    seeds_in,
)
from lib.experiments.registry import Experiment, find, load, plain, quick, register, rounded
from tests import counting
from tests.counting import COUNT, Counting, calls

COMMITTED = sorted(RECORDS.glob("*/*.json"))
RUN = {"command": "python -m lib.experiments run counting", "device": "cpu"}


@pytest.fixture(autouse=True)
def afresh(tmp_path, monkeypatch):
    """Nothing is known of earlier tests, and there are no files of the reader."""
    monkeypatch.setattr(registry, "_COMPUTED", {})
    monkeypatch.setenv("COUNTING", str(tmp_path))
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    monkeypatch.delenv("LEARNING_DYNAMICS_CATS_DOGS", raising=False)


def filled(seeds, variant="full", offset=0):
    """A record whose metrics tell the seed."""
    run = RUN | {"seeds": list(seeds), "finished": "2026-01-01T00:00:05+00:00", "wall_time_s": 5.0}
    run |= {"compute_s": 9.0, "peak_memory_mib": 80.0, "hardware": [{"cores": 2}], "versions": []}
    return Record(
        name="counting",
        title="Counts its calls",
        variant=variant,
        config=plain(COUNT.config(variant)),
        seeds=tuple(seeds),
        metrics=tuple({"square": seed**2 + offset, "curve": [seed, 0.1]} for seed in seeds),
        runs=(run,),
        failures=(),
        fingerprint=fingerprint(COUNT, variant),
    )


def write(record, folder):
    """The record as it is read back from a file."""
    path = folder / record.name / f"{record.variant}.json"
    content = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    save(path, {name: value for name, value in content.items() if name != "path"})
    return read_record(path)


def finish(folder, *seeds, variant="full"):
    """Run seeds of the counting experiment into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [run_seed(COUNT, variant, seed, "cpu", RUN, folder) for seed in seeds]


# The records of the book


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_record_of_the_book_is_good_without_any_files_of_the_reader(path):
    record = read_record(path)
    assert record.stale() == ()
    assert (record.name, record.variant) == (path.parent.name, path.stem)
    assert sorted(seed for run in record.runs for seed in run["seeds"]) == list(record.seeds)
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
    assert first.startswith("fingerprint: metrics.") and " was " in first
    assert "; stale" in recorded(name, variant).headline()


@pytest.mark.parametrize("name", ["min2024-figure-5", "min2024-figure-12"])
def test_the_tolerance_is_what_rounding_in_single_precision_needs(name):
    """These draw in double precision whatever the networks have: only the arithmetic differs."""
    experiment = find(name)
    config = experiment.fingerprint_of(experiment.config("test-split"))
    exact = dataclasses.replace(config, precision="float64")
    [single], [double] = (experiment.run(one, (0,), "cpu") for one in (config, exact))
    assert single != double and not [*differences(rounded(single), rounded(double))]


@given(st.floats(1e-30, 1e30), st.integers(-3, 3), st.sampled_from([1, -1]))
def test_floats_may_differ_by_a_unit_of_the_fourth_digit(value, steps, sign):
    digits, exponent = f"{value:.3e}".split("e")
    one, other = (float(f"{int(digits.replace('.', '')) + k}e{int(exponent) - 3}") for k in (0, steps))
    told = [*differences({"x": [sign * one]}, {"x": [sign * other]})]
    if max(one, other) < float(f"1e{int(exponent) + 1}") and min(one, other) >= float(f"1e{exponent}"):
        assert told == ([] if abs(steps) <= 1 else [f"x[0] was {sign * one}, is {sign * other}"])


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b was 1, is 2"),
        ({"a": 1}, {"a": 1, "b": None}, "b was not there, is None"),
        ({"a": [1.0]}, {"a": [1.0, 1.0]}, "a was [1.0], is [1.0, 1.0]"),
        ({"a": 0.0}, {"a": 1e-30}, "a was 0.0, is 1e-30"),
        ({"a": None}, {"a": 1.0}, "a was None, is 1.0"),
        ({"a": 1.0}, {"a": -1.0}, "a was 1.0, is -1.0"),
    ],
)
def test_what_differs_is_named_with_its_place(before, after, told):
    assert [*differences(before, after)] == [told]
    assert not [*differences(before, before)]


# Staleness, and what a record shows


def test_a_record_is_stale_when_configuration_code_or_experiment_have_changed(tmp_path, monkeypatch):
    record = write(filled((0, 1)), tmp_path)
    assert record.stale() == () and "stale" not in record.headline()
    assert "&lt;b&gt;" in dataclasses.replace(record, title="<b>")._repr_html_()
    try:
        register(dataclasses.replace(COUNT, full=Counting(scale=2.0)))
        assert record.stale() == ("scale was 1.0, is 2.0",)
        register(dataclasses.replace(COUNT, fingerprint_of=lambda config: Counting(pause=1e-3)))
        assert record.stale()[0] == "fingerprint: config.pause was 0.0, is 0.001"
    finally:
        register(COUNT)
    assert "no experiment" in dataclasses.replace(record, name="nothing").stale()[0]
    assert "variant is 'gone'" in dataclasses.replace(record, variant="gone").stale()[0]
    monkeypatch.setattr(registry, "_COMPUTED", {})
    monkeypatch.setattr(counting, "POWER", 3)
    assert record.stale() == ("fingerprint: metrics.curve[1] was 0.3333, is 0.25",)
    told = str(record)
    assert "stale: the code or the configuration has changed" in told and "metrics.curve[1]" in told


def test_values_are_one_a_seed_also_within_dictionaries_and_of_lists_of_any_length():
    record = filled((0, 2, 3))
    assert record.values("square").tolist() == [0, 4, 9] and record.values("curve").shape == (3, 2)
    inner = dataclasses.replace(record, metrics=tuple({"a": {"b": [1] * seed}} for seed in record.seeds))
    assert inner.values("a.b").tolist() == [[], [1, 1], [1, 1, 1]]
    with pytest.raises(ValueError, match=r"metric is 'a', allowed for counting: a\.b"):
        inner.values("a")


# Files


def test_what_is_not_there_or_damaged_is_named(tmp_path):
    with pytest.raises(NoRecord, match=r"python -m lib.experiments run counting --variant slow$"):
        recorded("counting", "slow", tmp_path)
    with pytest.raises(ValueError, match="name is 'countin'"):
        recorded("countin", folder=tmp_path)
    with pytest.raises(ValueError, match="variant is 'slwo'"):
        recorded("counting", "slwo", tmp_path)
    path = write(filled((0, 1)), tmp_path).path
    whole = path.read_text()
    for damaged in (whole[:-40], "[]", "{}", whole.replace('"seeds": [0, 1],\n', '"seeds": [0],\n', 1)):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"path .*full\.json is no record"):
            read_record(path)


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
    assert record.values("square").tolist() == [0, 101, 104] and record.seeds == (0, 1, 2)
    assert [run["seeds"] for run in record.runs] == [[1, 2], [0]]
    assert gather(COUNT, "full", folder, tmp_path) == record == recorded("counting", folder=tmp_path)


def test_a_seed_that_succeeds_later_is_a_failure_no_more(tmp_path):
    folder = tmp_path / "journal"
    finish(folder, 0, 1, variant="failing-once")
    record = gather(COUNT, "failing-once", folder, tmp_path)
    assert record.seeds == (0,) and [one["seed"] for one in record.failures] == [1]
    finish(folder, 1, variant="failing-once")
    record = gather(COUNT, "failing-once", folder, tmp_path)
    assert record.seeds == (0, 1) and record.failures == () and len(calls(1)) == 2
    assert not [one for one in seeds_in(folder).values() if "error" in one]


def test_a_seed_on_record_that_fails_in_another_run_is_no_failure(tmp_path):
    write(filled((0, 1), variant="failing-once"), tmp_path)
    finish(tmp_path / "journal", 1, 2, variant="failing-once")
    assert all("error" in entry for entry in seeds_in(tmp_path / "journal").values())
    save(tmp_path / "journal" / "3.json", run_seed(COUNT, "full", 3, "cpu", RUN, tmp_path / "none"))
    record = gather(COUNT, "failing-once", tmp_path / "journal", tmp_path)
    assert record.seeds == (0, 1, 3) and [one["seed"] for one in record.failures] == [2]


def test_a_stale_record_is_replaced_and_seeds_of_other_code_are_left_alone(tmp_path, monkeypatch):
    journal = tmp_path / "journal"
    before = journal_of(COUNT, "full", journal)
    finish(before, 0, 1)
    assert gather(COUNT, "full", before, tmp_path).seeds == (0, 1)
    monkeypatch.setattr(registry, "_COMPUTED", {})
    monkeypatch.setattr(counting, "POWER", 3)
    after = journal_of(COUNT, "full", journal)
    assert after != before and gather(COUNT, "full", after, tmp_path) is None
    assert recorded("counting", folder=tmp_path).seeds == (0, 1)
    finish(after, 2)
    record = gather(COUNT, "full", after, tmp_path)
    assert record.seeds == (2,) and record.values("square").tolist() == [8] and record.stale() == ()


def test_a_machine_without_the_folder_writes_nothing(tmp_path):
    entry = run_seed(COUNT, "full", 3, "cpu", RUN, tmp_path / "elsewhere")
    assert entry["metrics"]["square"] == 9 and not (tmp_path / "elsewhere").exists()


# The registry


def test_the_books_seed_moves_the_seeds_of_a_quick_run(monkeypatch):
    monkeypatch.setenv("BOOK_SEED", "1")
    assert [metrics["curve"][0] for metrics in quick("counting", [0, 3])] == [10**6, 10**6 + 3]


def test_a_quick_experiment_runs_once_and_what_a_caller_changes_is_its_own():
    first = quick("counting", range(3))
    first[0]["square"] = "changed"
    assert quick("counting", [2, 0])[1]["square"] == 0 == quick("counting")[0]["square"]
    assert [len(calls(seed)) for seed in range(4)] == [1, 1, 1, 0]


def test_pages_of_one_build_share_what_is_computed(tmp_path, monkeypatch):
    monkeypatch.setenv("LEARNING_DYNAMICS_COMPUTED", str(tmp_path / "computed"))
    script = "import tests.counting, lib.experiments.registry as r; print(r.quick('counting', [5]))"
    told = {
        subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True).stdout
        for _ in range(2)
    }
    assert len(calls(5)) == 1 and len(told) == 1 and "2.5" in told.pop()


def test_numbers_are_rounded_wherever_they_stand():
    given = {"a": (1.23456, None, "b"), "c": np.array([123456.0, 7.0]), "d": 10**6}
    assert rounded(given) == {"a": [1.235, None, "b"], "c": [123500.0, 7.0], "d": 10**6}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "../up"}, "name is"),
        ({"quick": registry}, "frozen dataclass"),
        ({"full": Counting(scale=float("nan"))}, r"full\.scale is nan"),
        ({"full": Counting(failing=[1])}, r"full\.failing is \[1\]"),
    ],
)
def test_an_experiment_that_cannot_be_recorded_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(COUNT, **changed)


def test_a_name_is_registered_by_one_module_only():
    with pytest.raises(ValueError, match=r"'counting' is registered by tests\.counting already"):
        register(dataclasses.replace(COUNT, run=lambda config, seeds, device: []))
    assert find("counting") is COUNT


def test_every_experiment_is_found_by_its_name_without_those_of_other_papers():
    for name, experiment in load().items():
        assert isinstance(experiment, Experiment) and find(name) is experiment
    script = (
        "import sys; from lib.experiments.registry import find; find('boursier2022-figure-6')\n"
        "print(*(name for name in sys.modules if name.startswith('lib.experiments.')))"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True).stdout
    assert set(told.split()) == {"lib.experiments.registry", "lib.experiments.boursier2022"}
