"""Every experiment: it is found by its name, alone, and its quick configuration runs once a process."""

import subprocess
import sys
from dataclasses import replace

import pytest

from experiments import clusters, two_digits
from experiments.registry import EXPERIMENTS, ROOT, computed, find, quick
from tests.counting import calls
from tests.images import write_mnist

NAMES = sorted({*EXPERIMENTS} - {"counting"})


@pytest.fixture(autouse=True)
def afresh(tmp_path, monkeypatch):
    """Nothing is known of other tests."""
    monkeypatch.setenv("COUNTING", str(tmp_path))
    computed.cache_clear()
    yield
    computed.cache_clear()


@pytest.mark.parametrize(
    ("run", "config"),
    [
        (two_digits.run_two_digits, two_digits.TwoDigits(images="test", iterations=4, points=2)),
        (
            clusters.run_digit_pairs,
            clusters.DigitPairs(images="test", pairs=((1, 0),), settings=("small-start",), epochs=1),
        ),
    ],
)
def test_mnist_comes_from_the_folder_of_the_reader(run, config, tmp_path, monkeypatch):
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"t10k-images-idx3-ubyte.gz is not in"):
        run(config, 0)
    write_mnist(tmp_path, monkeypatch)
    metrics = run(config, 0)
    assert sum(metrics.get("1-0", metrics.get("data"))["examples"]) == 5


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("pezeshki2021-figure-3", "settings"),
        ("sarussi2021-figure-9", "settings"),
        ("sarussi2021-figure-2", "settings"),
        ("ordinary-training", "tasks"),
    ],
)
def test_a_setting_that_there_is_not_is_refused(name, field):
    experiment = find(name)
    config = replace(experiment.fingerprint_of(experiment.quick), **{field: ("weight_decay",)})
    with pytest.raises(ValueError, match=rf"{field} \w+ 'weight_decay', allowed: '"):
        experiment.run(config, [0])


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
        "import sys, pathlib, tests.counting, experiments.registry as r\n"
        "r.ROOT = pathlib.Path(sys.argv[1])\nprint(r.quick('counting', [5]))"
    )
    for root, often in ((ROOT, 1), (ROOT, 1), (tmp_path, 2)):
        command = [sys.executable, "-c", script, root]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
        assert len(calls(5)) == often and "2.5" in told


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_found_by_its_name(name):
    assert find(name).name == name and find(name) is find(name)


def test_an_experiment_is_found_without_the_modules_of_others():
    script = (
        "import sys; from experiments.registry import find; find('boursier2022-figure-6')\n"
        "print(*(name for name in sys.modules if name.startswith('experiments.')))"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True).stdout
    allowed = {"registry", "comparison", "high_dimension"}
    assert set(told.split()) == {f"experiments.{name}" for name in allowed}
