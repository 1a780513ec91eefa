from dataclasses import replace

import numpy as np
import pytest

from experiments.alignment_fall import Fall, run_fall

SMALL = Fall(images="digits", step=8e-2, iterations=600, points=30, neurons=10)


@pytest.fixture(scope="module")
def metrics():
    return run_fall(SMALL, 0)


def test_both_ways_part_at_one_network_whose_outputs_are_negligible(metrics):
    part = metrics["iterations"].index(metrics["parting"])
    assert (
        metrics["squared_spectral_norm"][part] < SMALL.parting <= metrics["squared_spectral_norm"][part + 1]
    )
    for sign in ("positive", "negative"):
        assert metrics[f"alone_{sign}"][0] == metrics[f"both_{sign}"][part]
        assert len(metrics[f"alone_{sign}"]) == len(metrics["iterations"]) - part


def test_within_is_what_is_short_of_one_alone_over_what_is_with_both(metrics):
    for sign, within in metrics["within"].items():
        short = [1 - metrics[f"{way}_{sign}"][-1] for way in ("alone", "both")]
        assert np.isclose(short[0] / short[1], within, rtol=0.02)  # curves are rounded


def test_seeds_differ_and_a_seed_repeats(metrics):
    assert run_fall(SMALL, 0) == metrics != run_fall(replace(SMALL), 1)
