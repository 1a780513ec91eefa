"""The run of one seed: its metrics with what computed them, or its failure."""

import dataclasses

import numpy as np
import pytest

from experiments.runs import run_seed
from tests.counting import COUNT


def test_the_metrics_come_with_the_machine_and_what_they_took(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTING", str(tmp_path))
    found = run_seed(COUNT, "slow", 3, "cpu")
    assert (found["seed"], found["metrics"]["square"]) == (3, 9)
    assert 0.3 <= found["seconds"] < 60 and found["memory"] > 10
    assert found["machine"]["versions"].keys() >= {"python", "numpy", "torch"}
    assert found["machine"]["hardware"]["cores"] >= 1


@pytest.mark.parametrize("metrics", [{"loss": np.nan}, {"loss": np.ones(1)}])
def test_metrics_that_cannot_be_recorded_are_a_failure(metrics):
    faulty = dataclasses.replace(COUNT, metrics_of=lambda config, seed, device: metrics)
    found = run_seed(faulty, "full", 0, "cpu")
    assert found["seed"] == 0 and "metrics" not in found
    assert found["traceback"].splitlines()[-1].split(":")[0] in ("ValueError", "TypeError")
