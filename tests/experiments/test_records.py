"""Records: what they keep, when they are stale, and that nothing is lost or taken for what it is not."""

import dataclasses
import functools
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from experiments import clusters, colours, light, two_digits
from experiments.comparison import differences, to_scale
from experiments.records import DIGITS, RECORDS, NoRecord, begun, recorded
from experiments.registry import EXPERIMENTS, ROOT, Experiment, find
from tests import counting
from tests.counting import COUNT, Counting

COMMITTED = sorted(RECORDS.glob("*/*.json"))
RUN = {"command": "python -m experiments run counting", "started": "2026-01-01T00:00:00+00:00"}
RUN |= {"hardware": {"cores": 2}}


@pytest.fixture(autouse=True)
def without_files(tmp_path, monkeypatch):
    """There are no files of the reader."""
    monkeypatch.setenv("COUNTING", str(tmp_path))
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    monkeypatch.delenv("LEARNING_DYNAMICS_CATS_DOGS", raising=False)


def filled(seeds, variant="full", offset=0, run=RUN):
    """A record whose metrics tell the seed."""
    record = begun("counting", variant)
    for seed in seeds:
        metrics = {"square": seed**2 + offset, "curve": [seed, 0.1]}
        record = record.with_seed(run, seed, metrics, {}, 1.5, 80.0 + seed)
    return record


def written(record, folder):
    """The record as it is read back from a file."""
    record.save(folder)
    return recorded(record.name, record.variant, folder)


# The records of the book, and the experiments in the configurations of their fingerprints


@functools.cache
def metrics_of(function, config, seed, device):
    return function(config, seed, device)


@pytest.fixture
def once(monkeypatch):
    """What an experiment computes for a test is not computed again for another."""

    def run(experiment, config, seeds, device="cpu"):
        return [metrics_of(experiment.metrics_of, config, seed, device) for seed in seeds]

    monkeypatch.setattr(Experiment, "run", run)


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_record_of_the_book_is_good_without_any_files_of_the_reader(path):
    record = recorded(path.parent.name, path.stem)
    assert record.stale() == []
    assert (record.name, record.variant) == (path.parent.name, path.stem)
    assert sorted(seed for run in record.runs for seed in run["seeds"]) == record.seeds
    assert len(record.seeds) == len(record.metrics)
    assert path.stat().st_size < 200_000 and len(COMMITTED) == 25


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("name", sorted({*EXPERIMENTS} - {"counting"}))
def test_metrics_are_plain_and_those_of_a_seed(name):
    experiment = find(name)
    metrics = experiment.run(experiment.fingerprint_of(experiment.full), (0, 1))
    assert json.loads(json.dumps(metrics, allow_nan=False)) == metrics and metrics[0] != metrics[1]


@pytest.mark.parametrize(
    ("name", "variant", "module", "attribute", "changed"),
    [
        ("combes2018-table-2", "test-split", light, "BRIGHT", 120),
        ("min2024-figure-5", "test-split", two_digits, "SIGNS", ("negative", "positive")),
        ("pezeshki2021-table-1", "test-split-expected", colours, "LABEL_NOISE", 0.24),
        ("sarussi2021-table", "test-split", clusters, "sharp_factor", lambda slope, k: 1.9),
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
    [single], [double] = (experiment.run(one, (0,)) for one in (config, exact))
    assert single != double
    assert not [*differences(to_scale(single), to_scale(double), digits=DIGITS)]


# Staleness, and what a record shows


def test_a_record_is_stale_when_configuration_or_code_have_changed(tmp_path, monkeypatch):
    record = written(filled((0, 1)), tmp_path)
    assert record.stale() == []

    def first_reason(**changes):
        monkeypatch.setattr(counting, "COUNT", dataclasses.replace(COUNT, **changes))
        return record.stale()[0]

    assert first_reason(full=Counting(scale=2.0)) == "scale was 1.0, is 2.0"
    # What is set is compared exactly, what is computed to four digits.
    assert first_reason(full=Counting(scale=1.00001)) == "scale was 1.0, is 1.00001"
    other = first_reason(fingerprint_of=lambda config: Counting(scale=1.00001, counted=False))
    assert other == "fingerprint.config.scale was 1.0, is 1.00001"
    monkeypatch.setattr(counting, "COUNT", COUNT)
    monkeypatch.setattr(counting, "POWER", 3)
    assert record.stale() == ["fingerprint.metrics.curve[1] was 0.3333, is 0.25"]


def test_a_record_is_printed_without_any_computing(monkeypatch):
    record = filled((0, 1))
    monkeypatch.setattr("experiments.records.find", None)  # without which no experiment runs
    date = record.runs[0]["finished"][:10]
    assert str(record) == f"Recorded counting: 2 seeds, {date}" and str(record) in record._repr_html_()


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
    with pytest.raises(NoRecord, match=r"python -m experiments run counting --variant slow$"):
        recorded("counting", "slow", tmp_path)
    with pytest.raises(ValueError, match="name is 'countin', allowed: 'boursier2022-figure-6', "):
        recorded("countin", folder=tmp_path)
    with pytest.raises(ValueError, match="variant is 'slwo', allowed: 'full', 'quick', 'slow'"):
        recorded("counting", "slwo", tmp_path)


def test_a_file_that_is_no_record_is_named_with_its_line(tmp_path):
    path = tmp_path / "counting" / "full.json"
    filled([0, 1]).save(tmp_path)
    [first, _, *lines] = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([first, "=======", *lines]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"counting/full\.json:2: Expecting property name"):
        recorded("counting", folder=tmp_path)
    path.write_text("\n".join([first, *lines]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"full\.json: has title, .*, allowed: config, .*name, "):
        recorded("counting", folder=tmp_path)


def test_a_record_that_is_replaced_again_and_again_is_whole_when_its_writer_is_killed(tmp_path):
    script = (
        "import dataclasses, pathlib, sys, tests.counting; from experiments.records import begun\n"
        "record = begun('counting')\n"
        "for k in range(10**9): dataclasses.replace(record, metrics=[{'k': [k] * 20000}], seeds=[k])"
        ".save(pathlib.Path(sys.argv[1]))"
    )
    path = tmp_path / "counting" / "full.json"
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", script, tmp_path], cwd=ROOT)
        while not path.exists():
            time.sleep(0.01)
        time.sleep(random.Random(os.getpid()).uniform(0, 0.2))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        content = json.loads(path.read_text())
        [found] = content["seeds"]
        assert set(content["metrics"][0]["k"]) == {found} and len(content["metrics"][0]["k"]) == 20000


@pytest.mark.parametrize("metrics", [{"loss": np.nan}, {"loss": np.ones(1)}])
def test_what_json_cannot_hold_is_refused_and_the_record_stays(metrics, tmp_path):
    before = written(filled((0,)), tmp_path)
    with pytest.raises((ValueError, TypeError)):
        before.with_seed(RUN, 1, metrics, {}, 1.0, 1.0).save(tmp_path)
    assert recorded("counting", folder=tmp_path) == before
    assert [path.name for path in (tmp_path / "counting").iterdir()] == ["full.json"]


# One seed after the other


def test_seeds_are_in_order_whenever_they_finished_and_a_record_is_as_it_was_written(tmp_path):
    record = filled((2, 0, 1))
    assert record.seeds == [0, 1, 2] and record.values("square").tolist() == [0, 1, 4]
    assert written(record, tmp_path) == record


def test_what_a_command_computes_on_a_machine_is_one_run():
    command = {name: value for name, value in RUN.items() if name != "hardware"}
    record = filled((1, 0))
    record = record.with_seed(command, 2, {"square": 4}, {"hardware": {"cores": 1024}}, 3.0, 90.0)
    record = record.with_seed(command, 3, {"square": 9}, {"hardware": {"cores": 2}}, 2.0, 70.0)
    second, first = record.runs
    assert (first["seeds"], second["seeds"]) == ([0, 1, 3], [2])
    assert (first["compute_s"], first["peak_memory_mib"]) == (5.0, 81.0)
    assert first["wall_time_s"] >= 5 and first["hardware"] == {"cores": 2}
    assert (second["compute_s"], second["peak_memory_mib"]) == (3.0, 90.0)
