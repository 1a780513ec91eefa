"""The engine and its command: on processes and on a cluster, through failures, kills and interruptions."""

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import joblib
import pytest
import torch
from joblib._parallel_backends import ThreadingBackend
from threadpoolctl import threadpool_info

from lib.experiments.__main__ import main
from lib.experiments.digests import ROOT
from lib.experiments.engine import Settings, Task, state_of, sweep
from lib.experiments.jobs import Job, fixed_threads, run_job
from lib.experiments.progress import Progress
from lib.experiments.records import read_records
from lib.experiments.registry import Experiment, find, load, register
from tests.counting import COUNT, Counting, calls
from tests.counting import run as count

COMMAND = [sys.executable, "-m", "lib.experiments", "run", "--module", "tests.counting", "counting"]


@pytest.fixture(autouse=True)
def counted(tmp_path, monkeypatch):
    """A folder for the calls."""
    folder = tmp_path / "calls"
    folder.mkdir()
    monkeypatch.setenv("COUNTING", str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return folder


def places(tmp_path):
    return ["--records", str(tmp_path / "records"), "--journal", str(tmp_path / "journal")]


def here(tmp_path, *arguments):
    """The exit status of the command, run in this process."""
    return main([*arguments, *places(tmp_path)])


def counting(tmp_path, *arguments):
    """The exit status of running the counting experiment in this process."""
    return here(tmp_path, "run", "counting", "--backend", "sequential", *arguments)


def started(tmp_path, *arguments, **options):
    """The command in a process of its own."""
    command = [*COMMAND, *places(tmp_path), *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=ROOT, **pipes, **options)


def newest(tmp_path, variant="full"):
    return read_records("counting", variant, tmp_path / "records")[-1]


def until(condition, seconds=60):
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def expected(seeds, scale=1.0):
    return tuple({"square": scale * seed**2, "curve": [seed, scale / 3]} for seed in seeds)


def in_journal(tmp_path):
    """The seeds that the journal's files hold."""
    files = (tmp_path / "journal").glob("**/seeds-*.json")
    return [seed for path in files for seed in json.loads(path.read_text())["seeds"]]


def is_running(process):
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(process):
    """The numbers of the processes that a process has started: workers, busy or not, and what serves them."""
    return [int(one) for one in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


# What is run, and what is not run again


def test_what_is_recorded_is_not_run_again_and_more_seeds_are_added(tmp_path):
    assert counting(tmp_path, "--seeds", "3") == 0
    assert counting(tmp_path, "--seeds", "3") == 0
    assert counting(tmp_path, "--seeds", "2", "--first-seed", "2") == 0
    assert [len(calls(seed)) for seed in range(4)] == [1, 1, 1, 1]
    record = newest(tmp_path)
    assert record.metrics == expected(range(4))
    assert [run["seeds"] for run in record.runs] == [[0, 1, 2], [3]]
    assert record.runs[1]["command"] == (
        "python -m lib.experiments run counting --seeds 2 --first-seed 2 --backend sequential"
    )
    assert not in_journal(tmp_path) and len(list(tmp_path.glob("records/**/*.json"))) == 2


def test_each_configuration_has_a_record_of_its_own(tmp_path):
    assert counting(tmp_path, "--quick", "--variant", "failing-once", "--retries", "1", "--seeds", "3") == 0
    assert newest(tmp_path, "quick").metrics == expected(range(3), 0.1)
    assert newest(tmp_path, "failing-once").metrics == expected(range(3))
    names = {path.name.rsplit("-", 2)[0] for path in tmp_path.glob("records/counting/*")}
    assert names == {"quick", "failing-once"}


def test_a_dry_run_writes_and_runs_nothing(tmp_path, capsys):
    assert counting(tmp_path, "--seeds", "2", "--dry-run") == 0
    assert "0 of 2 seeds are finished; to do, 1 a job: [0, 1]" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["calls"] and not calls(0)


# Failures


def test_a_failing_seed_is_recorded_and_tried_again_by_the_next_run(tmp_path, capsys):
    assert counting(tmp_path, "--variant", "failing-once") == 1
    record = newest(tmp_path, "failing-once")
    assert record.seeds == (0, 3) and [one["seed"] for one in record.failures] == [1, 2]
    assert record.failures[0]["error"] == "ArithmeticError: seed 1 fails"
    assert 'File "tests/counting.py"' in record.failures[0]["traceback"]
    assert not [private for private in (str(ROOT), str(Path.home())) if private in record.path.read_text()]
    assert here(tmp_path, "show", "counting", "--variant", "failing-once", "--traceback") == 0
    assert "seed 1, tried 1 times" in capsys.readouterr().out
    assert counting(tmp_path, "--variant", "failing-once") == 0
    record = newest(tmp_path, "failing-once")
    assert record.metrics == expected(range(4)) and record.failures == ()
    assert [len(calls(seed)) for seed in range(4)] == [1, 2, 2, 1]


def test_a_seed_that_always_fails_counts_its_attempts_and_stops_no_other(tmp_path):
    assert counting(tmp_path, "--variant", "failing", "--variant", "full", "--retries", "2") == 1
    assert newest(tmp_path).metrics == expected(range(4))
    [failed] = newest(tmp_path, "failing").failures
    assert (failed["seed"], failed["attempts"]) == (2, 3)
    assert newest(tmp_path, "failing").metrics == expected([0, 1, 3])
    assert counting(tmp_path, "--variant", "failing") == 1
    assert len(calls(2)) == 5 and len(list(tmp_path.glob("records/counting/failing-*"))) == 1


def test_a_seed_that_fails_in_a_batch_leaves_the_batch(tmp_path):
    assert counting(tmp_path, "--variant", "failing", "--chunk", "4") == 1
    assert newest(tmp_path, "failing").metrics == expected([0, 1, 3])
    assert newest(tmp_path, "failing").runs[0]["chunk"] == 4


@pytest.mark.parametrize(("variant", "status", "missing"), [("dying", 1, {1}), ("dying-once", 0, set())])
def test_a_job_that_takes_its_worker_down_stops_no_other(tmp_path, variant, status, missing):
    process = started(tmp_path, "--variant", variant, "--workers", "2")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == status, output
    seeds = sorted(set(range(4)) - missing)
    assert newest(tmp_path, variant).metrics == expected(seeds)
    assert {one["seed"] for one in newest(tmp_path, variant).failures} == missing
    assert ("the worker ended before the job did" in output) == bool(missing)


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ([{"loss": float("nan")}], "ValueError: what faulty returned is not what JSON can hold"),
        ([{"loss": torch.ones(1)}], "ValueError: what faulty returned is not what JSON can hold"),
        ([], "TypeError: faulty returned [], expected 1 dictionaries in a list"),
        (None, "TypeError: faulty returned None, expected 1 dictionaries in a list"),
    ],
)
def test_metrics_that_cannot_be_recorded_are_failures(returned, error):
    def faulty(config, seeds, device):
        return returned

    result = run_job(Job(dataclasses.replace(COUNT, name="faulty", run=faulty), "full", (0,)))
    assert result["seeds"] == [] and result["failures"][0]["error"].startswith(error)


def test_a_worker_with_other_code_refuses():
    result = run_job(Job(COUNT, "full", (0,), modules=(("tests.counting", "0" * 16),)))
    assert (
        "this worker has other code than the command began with: tests.counting"
        in result["failures"][0]["error"]
    )
    assert not calls(0)


# Kills and interruptions


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    process = started(tmp_path, "--variant", "slow", "--seeds", "6", "--workers", "2")
    until(lambda: len(in_journal(tmp_path)) >= 2)
    started_by_it = children(process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = in_journal(tmp_path)
    assert {number for seed in range(6) for number in calls(seed)} <= set(started_by_it)
    until(lambda: not any(map(is_running, started_by_it)))
    assert 2 <= len(kept) < 6 and not list(tmp_path.glob("records/**/*.json"))
    before = {seed: len(calls(seed)) for seed in kept}
    assert counting(tmp_path, "--variant", "slow", "--seeds", "6") == 0
    assert {seed: len(calls(seed)) for seed in kept} == before == dict.fromkeys(kept, 1)
    record = newest(tmp_path, "slow")
    assert record.seeds == tuple(range(6)) and record.metrics == expected(range(6))
    assert sorted(seed for run in record.runs for seed in run["seeds"]) == list(range(6))


@pytest.mark.parametrize("backend", ["sequential", "loky"])
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_keeps_what_had_finished(tmp_path, backend, number, status):
    workers = ("--workers", "2") if backend == "loky" else ()
    process = started(tmp_path, "--variant", "slow", "--seeds", "8", "--backend", backend, *workers)
    until(lambda: in_journal(tmp_path))
    started_by_it = children(process)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == status and "the same command goes on from there" in output
    assert "UserWarning" not in output
    assert in_journal(tmp_path) and len(started_by_it) >= len(workers)
    until(lambda: not any(map(is_running, started_by_it)), seconds=5)


def test_a_run_that_ignores_ctrl_c_as_in_the_background_of_a_script_still_ends_when_asked_to(tmp_path):
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    process = started(tmp_path, "--variant", "slow", "--backend", "sequential", **ignoring)
    until(lambda: in_journal(tmp_path))
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 143 and "the same command goes on from there" in output


def test_a_damaged_file_of_the_journal_is_named_and_computed_again(tmp_path, capsys):
    process = started(tmp_path, "--variant", "slow", "--backend", "sequential", "--seeds", "2")
    until(lambda: in_journal(tmp_path))
    process.kill()
    process.communicate()
    [path] = (tmp_path / "journal").glob("**/seeds-*.json")
    path.write_bytes(path.read_bytes()[:-40])
    path.with_name("seeds-1-rest.partial").write_text("{")
    assert counting(tmp_path, "--variant", "slow", "--seeds", "2", "--dry-run") == 0
    assert f"{path} is damaged" in capsys.readouterr().out
    assert counting(tmp_path, "--variant", "slow", "--seeds", "2") == 0
    assert f"{path} is damaged" in capsys.readouterr().err
    assert path.with_suffix(".damaged").exists() and newest(tmp_path, "slow").metrics == expected([0, 1])
    assert len(calls(0)) == 2


def test_two_runs_at_once_both_get_on_record(tmp_path):
    options = ("--variant", "slow", "--backend", "sequential", "--seeds", "3")
    runs = [started(tmp_path, *options), started(tmp_path, *options, "--first-seed", "1")]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    for run in runs:
        run.stdout.close()
    assert newest(tmp_path, "slow").metrics == expected(range(4)) and not in_journal(tmp_path)


# Clusters


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
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    local = started(tmp_path / "local", *options, "--workers", "2")
    assert local.communicate(timeout=60) and local.returncode == 0
    there, here = newest(tmp_path, "slow"), newest(tmp_path / "local", "slow")
    assert (there.key, there.seeds, there.metrics) == (here.key, here.seeds, here.metrics)
    assert there.metrics == expected(range(8)) and not there.failures
    text = there.path.read_text()
    assert "--backend dask" in text and cluster not in text and str(tmp_path) not in text


def test_ray_gives_what_local_processes_give(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed; pip install -e '.[ray]'")
    process = started(tmp_path, "--backend", "ray", "--workers", "2")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert newest(tmp_path).metrics == expected(range(4))


@pytest.fixture
def stand_in_for_ray(monkeypatch):
    """Modules of Ray's names, whose workers are threads; returns what they were asked for."""
    asked = []

    class Threads(ThreadingBackend):
        def configure(self, n_jobs=1, **options):
            asked.append(("round", n_jobs))
            return super().configure(n_jobs, **options)

    ray, util, of_joblib = (types.ModuleType(name) for name in ("ray", "ray.util", "ray.util.joblib"))
    ray.init = lambda **options: asked.append(("init", options))
    ray.cluster_resources = lambda: {"CPU": 2.0}
    ray.shutdown = lambda: asked.append(("shutdown",))
    of_joblib.register_ray = lambda: joblib.register_parallel_backend("ray", Threads)
    for module in (ray, util, of_joblib):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("joblib.parallel.BACKENDS", dict(joblib.parallel.BACKENDS))
    return asked


@pytest.mark.parametrize(
    ("options", "init"),
    [
        (("--workers", "3"), {"address": "local", "num_cpus": 3, "include_dashboard": False}),
        (("--address", "ray://there:10001"), {"address": "ray://there:10001"}),
    ],
)
def test_ray_is_asked_for_a_cluster_or_for_workers_here_and_let_go(tmp_path, stand_in_for_ray, options, init):
    assert here(tmp_path, "run", "counting", "--backend", "ray", "--seeds", "5", *options) == 0
    first, *rounds, last = stand_in_for_ray
    assert first == ("init", {"log_to_driver": False, **init}) and last == ("shutdown",)
    # Five jobs, two at a time, as many as the cluster has cores.
    assert rounds == [("round", 2)] * 3
    assert newest(tmp_path).metrics == expected(range(5))
    assert "--backend ray" in (text := newest(tmp_path).path.read_text()) and "there" not in text


def test_ray_is_let_go_when_a_run_fails_or_is_interrupted(tmp_path, stand_in_for_ray, monkeypatch):
    assert here(tmp_path, "run", "counting", "--backend", "ray", "--variant", "failing") == 1
    assert stand_in_for_ray[-1] == ("shutdown",)
    assert newest(tmp_path, "failing").metrics == expected([0, 1, 3])

    def interrupt(*arguments):
        raise KeyboardInterrupt

    stand_in_for_ray.clear()
    monkeypatch.setattr("lib.experiments.pools.Pool.results", interrupt)
    assert here(tmp_path, "run", "counting", "--backend", "ray", "--first-seed", "9") == 130
    assert [what for what, *_ in stand_in_for_ray] == ["init", "shutdown"]


@pytest.mark.parametrize(
    ("backend", "missing", "extra"), [("ray", "ray", "ray"), ("dask", "dask", "cluster")]
)
def test_what_is_missing_for_a_cluster_is_named_with_how_to_get_it(
    tmp_path, capsys, monkeypatch, backend, missing, extra
):
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert here(tmp_path, "run", "counting", "--backend", backend) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"ImportError: backend is '{backend}'") and f"pip install -e '.[{extra}]'" in told
    assert not list(tmp_path.glob("records/**/*.json"))


# The command and its parts


def test_list_status_and_show_tell_what_there_is(tmp_path, capsys):
    assert counting(tmp_path, "--variant", "failing") == 1
    assert here(tmp_path, "list") == 0 and here(tmp_path, "status") == 0
    told = capsys.readouterr().out
    assert "counting: Counts its calls" in told and "counting, full: not recorded" in told
    assert "counting, failing: 3 seeds recorded" in told and "1 seed failed" in told
    assert here(tmp_path, "show", "counting", "--variant", "failing") == 0
    shown = capsys.readouterr().out
    assert "Recorded counting (failing): 3 seeds, 1 failed" in shown
    square = next(line for line in shown.splitlines() if line.strip().startswith("square"))
    assert [float(word) for word in square.split()[1:]] == pytest.approx([10 / 3, 4.9329, 0, 9], rel=1e-4)


def test_a_stale_record_is_run_again_and_kept(tmp_path, capsys):
    assert counting(tmp_path, "--seeds", "1") == 0
    changed = register(dataclasses.replace(COUNT, full=Counting(scale=2.0)))
    try:
        assert here(tmp_path, "status") == 0
        assert "counting, full: stale (scale was 1.0, is 2.0), 1 seed recorded" in capsys.readouterr().out
        assert counting(tmp_path, "--seeds", "1") == 0
        assert (
            find("counting") is changed and len(read_records("counting", "full", tmp_path / "records")) == 2
        )
    finally:
        register(COUNT)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("run", "countin"), 2, "nearest: counting"),
        (("run", "counting", "--variant", "slwo"), 2, "allowed for counting: full, quick, slow"),
        (("run", "counting", "--seeds", "0"), 2, "seeds is ()"),
        (("run", "counting", "--workers", "-1"), 2, "workers is -1"),
        (("run", "counting", "--address", "tcp://127.0.0.1:1"), 2, "address is 'tcp://127.0.0.1:1'"),
        (("show", "counting"), 1, "python -m lib.experiments run counting"),
        (("list", "--module", "tests.nowhere"), 2, "tests.nowhere"),
    ],
)
def test_the_exit_status_tells_and_the_message_helps(tmp_path, capsys, arguments, status, told):
    assert here(tmp_path, *arguments) == status
    assert told in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["calls"]


def test_without_a_graphics_processor_cuda_is_refused(tmp_path):
    if torch.cuda.is_available():
        assert counting(tmp_path, "--device", "cuda") == 0
    else:
        assert counting(tmp_path, "--device", "cuda") == 1
        assert not calls(0)


def test_threads_are_fixed_and_given_back():
    before = torch.get_num_threads()
    with fixed_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match="threads is 0"), fixed_threads(0):
        pass


@pytest.mark.parametrize("threads", [1, 2])
def test_workers_have_the_threads_they_were_given(threads):
    def run(config, seeds, device):
        pools = [pool["num_threads"] for pool in threadpool_info()]
        return [{"torch": torch.get_num_threads(), "most": max(pools)}]

    job = Job(dataclasses.replace(COUNT, run=run), "full", (0,), threads=threads)
    assert run_job(job)["metrics"] == [{"torch": threads, "most": threads}]


def test_chunks_of_a_resumed_run_are_those_of_a_whole_one(tmp_path):
    asked = []

    def run(config, seeds, device):
        asked.append(tuple(seeds))
        return count(config, seeds, device)

    task = Task(dataclasses.replace(COUNT, run=run), "full", tuple(range(6)))
    folders = {"records": tmp_path / "records", "journal": tmp_path / "journal"}
    sweep([dataclasses.replace(task, seeds=(2, 3))], Settings("sequential", chunk=2), **folders)
    [state] = sweep([task], Settings("sequential", chunk=4), **folders)
    assert asked == [(2, 3), (0, 1), (4, 5)] and state.record.metrics == expected(range(6))
    assert state_of(task, **folders).to_do == ()


def test_a_name_is_registered_by_one_module_only():
    def run(config, seeds, device):
        return []

    with pytest.raises(ValueError, match=r"'counting' is registered by tests\.counting already"):
        register(dataclasses.replace(COUNT, run=run))
    assert load()["counting"] is COUNT


def test_every_experiment_is_found_by_its_name_and_its_code_is_known():
    for name, experiment in load().items():
        assert isinstance(experiment, Experiment) and find(name) is experiment
        # A paper's experiments may fill several modules, each named by its key and what follows.
        module = experiment.run.__module__.rpartition(".")[2].partition("_")[0]
        assert module == name.partition("-")[0]
        assert state_of(Task(experiment, "quick", (0,))).journal.plan.modules


def test_an_experiment_is_found_without_importing_those_of_other_papers():
    script = (
        "import sys; from lib.experiments.registry import find; find('boursier2022-figure-6')\n"
        "print(*(name for name in sys.modules if name.startswith('lib.experiments.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    papers = {name.rpartition(".")[2].partition("_")[0] for name in done.stdout.split()}
    assert papers == {"registry", "boursier2022"}


def test_progress_is_lines_in_a_file_and_a_bar_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def shown(stream):
        progress = Progress(stream, every=0.0)
        progress.begin(3)
        progress.step(1, [], True, "die")
        progress.step(0, [{"seed": 1, "error": "ValueError: no"}], True, "die")
        progress.step(1, [], True, "die")
        progress.end()
        return stream.getvalue()

    lines = shown(io.StringIO()).splitlines()
    assert lines[0].startswith("1 of 3 seeds, 0 failed") and "left" in lines[0]
    assert lines[1] == "die, seed 1: ValueError: no" and lines[-1].startswith("2 of 3 seeds, 1 failed")
    bar = shown(Terminal())
    assert "1/3 [" in bar and "\rdie, seed 1: ValueError: no\n" in bar
    *_, cleared, end = bar.split("\r")
    assert end == "" and not cleared.strip()
    assert Progress(None).begin(3) is None
