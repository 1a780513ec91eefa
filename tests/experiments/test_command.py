"""The command, in processes of its own: what it runs and records, through failures, kills and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lib.experiments.__main__ import main
from lib.experiments.records import ROOT, read_record
from tests.counting import calls

COMMAND = [sys.executable, "-m", "lib.experiments", "run", "--module", "tests.counting", "counting"]


@pytest.fixture(autouse=True)
def counted(tmp_path, monkeypatch):
    """A folder for the calls."""
    folder = tmp_path / "calls"
    folder.mkdir()
    monkeypatch.setenv("COUNTING", str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def places(tmp_path):
    return ["--records", str(tmp_path / "records"), "--journal", str(tmp_path / "journal")]


def here(tmp_path, *arguments):
    """The exit status of the command, run in this process."""
    return main([*arguments, *places(tmp_path)])


def counting(tmp_path, *arguments):
    """The exit status of running the counting experiment in this process."""
    return here(tmp_path, "run", "counting", "--backend", "sequential", *arguments)


def started(tmp_path, *arguments):
    """The command in a process of its own."""
    command = [*COMMAND, *places(tmp_path), *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def newest(tmp_path, variant="full"):
    return read_record(tmp_path / "records" / "counting" / f"{variant}.json")


def until(condition, seconds=60):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def expected(seeds, scale=1.0):
    return tuple({"square": scale * seed**2, "curve": [seed, scale / 3]} for seed in seeds)


def in_journal(tmp_path):
    """The seeds that have finished, each file whole."""
    return {json.loads(path.read_text())["seed"] for path in (tmp_path / "journal").glob("**/*.json")}


def is_running(process):
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(process):
    """The numbers of the processes that a process has started: workers, busy or not, and what serves them."""
    return [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def test_what_is_recorded_is_not_run_again_and_more_seeds_are_added(tmp_path):
    for count in ("3", "3", "4"):
        assert counting(tmp_path, "--seeds", count) == 0
    assert [len(calls(seed)) for seed in range(4)] == [1, 1, 1, 1]
    record = newest(tmp_path)
    assert record.metrics == expected(range(4)) and not record.failures
    assert [run["seeds"] for run in record.runs] == [[0, 1, 2], [3]]
    assert record.runs[1]["command"] == (
        "python -m lib.experiments run counting --seeds 4 --backend sequential"
    )
    assert set(record.runs[1]) >= {"commit", "started", "finished", "device", "hardware", "versions"}
    assert 0 <= record.runs[1]["compute_s"] == record.runs[1]["wall_time_s"] < 60


def test_a_failing_seed_is_kept_as_a_failure_and_tried_again_by_the_next_run(tmp_path, capsys):
    assert counting(tmp_path, "--variant", "failing-once") == 1
    record = newest(tmp_path, "failing-once")
    assert record.seeds == (0, 3)
    assert [one["error"] for one in record.failures] == [f"ArithmeticError: seed {k} fails" for k in (1, 2)]
    assert "seed 1 failed: ArithmeticError: seed 1 fails" in capsys.readouterr().out
    kept = next((tmp_path / "journal").glob("counting/*/1.json"))
    assert "counting.py" in json.loads(kept.read_text())["traceback"]
    assert counting(tmp_path, "--variant", "failing-once") == 0
    record = newest(tmp_path, "failing-once")
    assert record.metrics == expected(range(4)) and record.failures == ()
    assert [len(calls(seed)) for seed in range(4)] == [1, 2, 2, 1]
    assert "error" not in json.loads(kept.read_text())


def test_a_worker_that_ends_leaves_the_seeds_that_have_finished_to_the_next_run(tmp_path):
    for status in (1, 0):
        process = started(tmp_path, "--variant", "dying-once", "--jobs", "2")
        output, _ = process.communicate(timeout=120)
        assert process.returncode == status, output
        assert ("a worker ended before its seed did" in output) == bool(status)
        assert "Traceback" not in output
    assert newest(tmp_path, "dying-once").metrics == expected(range(4))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("backend", "at"), [("loky", 0), ("loky", 3), ("sequential", 1)])
def test_an_interrupted_run_loses_no_finished_seed_and_leaves_no_worker(tmp_path, number, backend, at):
    options = ("--variant", "slow", "--seeds", "8", "--jobs", "2", "--backend", backend)
    process = started(tmp_path, *options)
    # As soon as a worker works, or when so many seeds have finished.
    until(lambda: len(in_journal(tmp_path)) >= at and any(calls(seed) for seed in range(8)))
    before, started_by_it = in_journal(tmp_path), children(process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number, output
    assert "Traceback" not in output
    until(lambda: not any(map(is_running, started_by_it)), seconds=5)
    assert len(started_by_it) >= 2 * (backend == "loky")
    kept = in_journal(tmp_path)
    assert before <= kept and len(kept) < 8
    again = {seed: len(calls(seed)) for seed in range(8)}
    assert counting(tmp_path, "--variant", "slow", "--seeds", "8") == 0
    assert {seed for seed in range(8) if len(calls(seed)) > again[seed]} == set(range(8)) - kept
    record = newest(tmp_path, "slow")
    assert record.metrics == expected(range(8))
    assert sorted(seed for run in record.runs for seed in run["seeds"]) == list(range(8))


def test_workers_end_when_their_parent_is_killed_and_what_finished_can_be_recorded(tmp_path, capsys):
    process = started(tmp_path, "--variant", "slow", "--seeds", "8", "--jobs", "2")
    until(lambda: in_journal(tmp_path))
    started_by_it = children(process)
    process.kill()
    process.communicate()
    until(lambda: not any(map(is_running, started_by_it)), seconds=10)
    kept = sorted(in_journal(tmp_path))
    assert here(tmp_path, "record", "counting", "--variant", "slow") == 0
    assert newest(tmp_path, "slow").metrics == expected(kept)


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
        until(at.exists)
        yield json.loads(at.read_text())["address"]
    finally:
        for part in parts:
            part.kill()
            part.wait()


def test_a_cluster_loses_a_worker_and_gives_what_local_processes_give(tmp_path, cluster):
    options = ("--variant", "slow", "--seeds", "8")
    process = started(tmp_path, *options, "--backend", "dask", "--address", cluster)

    def workers():
        return {number for seed in range(8) for number in calls(seed)}

    until(lambda: len(workers()) == 2 and in_journal(tmp_path))
    os.kill(min(workers()), signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    local = started(tmp_path / "local", *options, "--jobs", "2")
    assert local.communicate(timeout=120) and local.returncode == 0
    there, here = newest(tmp_path, "slow"), newest(tmp_path / "local", "slow")
    assert (there.seeds, there.metrics) == (here.seeds, here.metrics)
    assert there.metrics == expected(range(8)) and not there.failures
    text = there.path.read_text()
    assert "--backend dask" in text and cluster not in text and str(tmp_path) not in text


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("run", "countin"), 2, "name is 'countin', which is no experiment; nearest: counting"),
        (("run", "counting", "--variant", "slwo"), 2, "allowed for counting: full, quick, slow"),
        (("run", "counting", "--seeds", "0"), 2, "seeds is 0"),
        (("run", "counting", "--backend", "ray"), 2, "backend is 'ray', allowed: 'loky'"),
        (("run", "counting", "--device", "cuda"), 2, "device is 'cuda', allowed: 'cpu'"),
        (("run", "counting", "--address", "tcp://127.0.0.1:1"), 2, "address is 'tcp://127.0.0.1:1'"),
        (("show", "counting"), 1, "python -m lib.experiments run counting"),
    ],
)
def test_the_exit_status_tells_and_one_line_helps(tmp_path, capsys, arguments, status, told):
    assert main([*arguments, *places(tmp_path)]) == status
    line = capsys.readouterr().err
    assert told in line and line.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["calls"]
