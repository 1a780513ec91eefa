"""The command, in processes of its own: what it runs and records, through failures, kills and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.records import recorded
from experiments.registry import ROOT
from tests.counting import calls

COMMAND = "import runpy, tests.counting; runpy.run_module('experiments', run_name='__main__')"


@pytest.fixture(autouse=True)
def counted(tmp_path, monkeypatch):
    """A folder for the calls."""
    folder = tmp_path / "calls"
    folder.mkdir()
    monkeypatch.setenv("COUNTING", str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def here(tmp_path, *arguments):
    """The exit status of the command, run in this process."""
    return main(["--records", str(tmp_path / "records"), *arguments])


def counting(tmp_path, variant, count):
    """The exit status of running so many seeds of the counting experiment in this process."""
    return here(tmp_path, "run", "counting", "--variant", variant, "--seeds", str(count), "--jobs", "1")


def started(tmp_path, variant, count, *arguments):
    """The command in a process of its own."""
    options = [
        "--records",
        tmp_path / "records",
        "run",
        "counting",
        "--variant",
        variant,
        "--seeds",
        str(count),
    ]
    command = [sys.executable, "-c", COMMAND, *options, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def newest(tmp_path, variant):
    return recorded("counting", variant, tmp_path / "records")


def until(condition, seconds=60):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def expected(seeds):
    return [{"square": seed**2, "curve": [seed, 1 / 3]} for seed in seeds]


def on_record(tmp_path, variant="slow"):
    """The seeds that are on record, of a file that is whole."""
    path = tmp_path / "records" / "counting" / f"{variant}.json"
    return set(json.loads(path.read_text())["seeds"]) if path.exists() else set()


def is_running(process):
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(process):
    """The numbers of the processes that a process has started: workers, busy or not, and what serves them."""
    return [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def test_what_is_recorded_is_not_run_again_and_more_seeds_are_added(tmp_path, capsys):
    for count in (3, 3, 4):
        assert counting(tmp_path, "full", count) == 0
    assert [len(calls(seed)) for seed in range(4)] == [1, 1, 1, 1]
    record = newest(tmp_path, "full")
    assert record.metrics == expected(range(4))
    first, second = record.runs
    assert (first["seeds"], second["seeds"]) == ([0, 1, 2], [3])
    assert second["command"] == "python -m experiments run counting --seeds 4"
    assert set(second) >= {"commit", "started", "device", "backend", "hardware"}
    assert second["versions"].keys() >= {"python", "numpy", "torch"} and second["peak_memory_mib"] > 10
    assert first["compute_s"] <= first["wall_time_s"] < 60
    assert f"Recorded counting: 4 seeds, {second['finished'][:10]}\n" in capsys.readouterr().out


def test_a_run_waits_for_another_of_the_same_and_takes_what_that_has_found(tmp_path):
    processes = [started(tmp_path, "slow", 4, "--jobs", "1") for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert on_record(tmp_path) == {0, 1, 2, 3} and [len(calls(seed)) for seed in range(4)] == [1] * 4


def test_a_failing_seed_is_told_and_tried_again_by_the_next_run(tmp_path, capsys):
    assert counting(tmp_path, "failing-once", 4) == 1
    assert newest(tmp_path, "failing-once").seeds == [0, 3]
    told = capsys.readouterr().out
    assert "counting.py" in told and "ArithmeticError: seed 1 fails\nseed 1 failed; the same" in told
    assert counting(tmp_path, "failing-once", 4) == 0
    assert newest(tmp_path, "failing-once").metrics == expected(range(4))
    assert [len(calls(seed)) for seed in range(4)] == [1, 2, 2, 1]


def test_a_worker_that_ends_leaves_the_seeds_that_have_finished_to_the_next_run(tmp_path):
    for status in (1, 0):
        process = started(tmp_path, "dying-once", 4, "--jobs", "2")
        output, _ = process.communicate(timeout=120)
        assert process.returncode == status, output
        assert ("a worker ended before its seed did" in output) == bool(status)
        assert "Traceback" not in output
    assert newest(tmp_path, "dying-once").metrics == expected(range(4))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("jobs", "at"), [(2, 0), (2, 3), (1, 1)])
def test_an_interrupted_run_loses_no_finished_seed_and_leaves_no_worker(tmp_path, number, jobs, at):
    process = started(tmp_path, "slow", 8, "--jobs", str(jobs))
    # As soon as a worker works, or when so many seeds have finished.
    until(lambda: len(on_record(tmp_path)) >= at and any(calls(seed) for seed in range(8)))
    before, started_by_it = on_record(tmp_path), children(process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output
    assert "Traceback" not in output
    until(lambda: not any(map(is_running, started_by_it)), seconds=5)
    assert len(started_by_it) >= 2 * (jobs == 2)
    kept = on_record(tmp_path)
    assert before <= kept and len(kept) < 8
    again = {seed: len(calls(seed)) for seed in range(8)}
    assert counting(tmp_path, "slow", 8) == 0
    assert {seed for seed in range(8) if len(calls(seed)) > again[seed]} == set(range(8)) - kept
    record = newest(tmp_path, "slow")
    assert record.metrics == expected(range(8))
    assert sorted(seed for run in record.runs for seed in run["seeds"]) == list(range(8))


@pytest.fixture
def cluster(tmp_path):
    """The address of a Dask scheduler on this machine, with two workers that nobody starts again."""
    at = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": ROOT}
    dask = [sys.executable, "-m", "dask"]
    end = ["--host", "127.0.0.1", "--no-dashboard"]
    parts = [subprocess.Popen([*dask, "scheduler", *end, "--port", "0", "--scheduler-file", at], **quiet)]
    worker = [*dask, "worker", "--scheduler-file", at, "--nthreads", "1", "--no-nanny", *end]
    parts += [
        subprocess.Popen([*worker, "--local-directory", tmp_path / f"worker-{number}"], **quiet)
        for number in range(2)
    ]
    try:
        until(lambda: at.exists() and at.read_text().rstrip().endswith("}"))
        yield json.loads(at.read_text())["address"]
    finally:
        for part in parts:
            part.kill()
            part.wait()


def test_a_cluster_that_loses_a_worker_gives_every_seed(tmp_path, cluster):
    process = started(tmp_path, "slow", 8, "--dask", cluster)

    def workers():
        return {number for seed in range(8) for number in calls(seed)}

    until(lambda: len(workers()) == 2 and on_record(tmp_path))
    os.kill(min(workers()), signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    record = newest(tmp_path, "slow")
    assert record.metrics == expected(range(8))
    assert {run["backend"] for run in record.runs} == {"dask"} and cluster not in str(record.runs)


def test_without_an_address_dask_starts_a_cluster_here(tmp_path):
    process = started(tmp_path, "full", 2, "--dask", "--jobs", "2")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert newest(tmp_path, "full").metrics == expected(range(2))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["countin"], "name is 'countin', allowed: 'boursier2022-figure-6', "),
        (["counting", "--variant", "slwo"], "variant is 'slwo', allowed: 'full', 'quick', 'slow'"),
        (["counting", "--seeds", "0"], "seeds is 0"),
        (["counting", "--jobs", "0"], "jobs is 0"),
        (["counting", "--device", "cuda"], "device is 'cuda', allowed: 'cpu'"),
    ],
)
def test_arguments_that_cannot_be_are_named_before_anything_is_written(tmp_path, capsys, arguments, told):
    with pytest.raises(SystemExit, match="2"):
        here(tmp_path, "run", *arguments)
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["calls"]


def test_the_list_tells_what_is_recorded_and_what_is_stale(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("experiments.__main__.EXPERIMENTS", ["counting"])
    assert counting(tmp_path, "slow", 1) == here(tmp_path, "list") == 0
    told = capsys.readouterr().out
    assert "counting: Counts its calls\n    full: not recorded\n" in told
    assert "    slow: Recorded counting (slow): 1 seed, 20" in told and "stale" not in told
    monkeypatch.setattr("tests.counting.POWER", 3)
    assert here(tmp_path, "list") == 0
    assert "; stale: fingerprint.metrics.curve[1] was 0.3333, is 0.25\n" in capsys.readouterr().out


def test_a_stale_record_is_replaced(tmp_path, monkeypatch):
    assert counting(tmp_path, "full", 3) == 0
    monkeypatch.setattr("tests.counting.POWER", 3)
    assert counting(tmp_path, "full", 2) == 0
    record = newest(tmp_path, "full")
    assert record.values("square").tolist() == [0, 1] and record.stale() == []


def test_of_a_seed_on_record_the_values_stay(tmp_path):
    assert counting(tmp_path, "full", 2) == 0
    record = newest(tmp_path, "full")
    record.metrics[1]["square"] = 100
    record.save(tmp_path / "records")
    assert counting(tmp_path, "full", 3) == 0
    assert newest(tmp_path, "full").values("square").tolist() == [0, 100, 4]
