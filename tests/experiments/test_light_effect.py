"""Brightness that reveals the class: what the images become, and what networks learn of them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lib.experiments import combes2018
from lib.experiments.combes2018 import LightEffect, run_light_effect
from lib.experiments.registry import find

TABLE = find("combes2018-table-2")
SMALL = LightEffect(images="digits", per_class=20, blocks=((4,),), dense=(), step=1e-2, epochs=2)
VIEWS = ("modified", "real", "swapped")


@pytest.fixture(scope="module")
def quick():
    return run_light_effect(TABLE.quick, range(3))


def test_metrics_are_plain_and_of_the_same_shape_for_each_seed(quick):
    assert json.loads(json.dumps(quick, allow_nan=False)) == quick
    for metrics in quick:
        learnt, tested = metrics["examples"]
        for share in ("lit_100", "lit_90", "lit_0"):
            one = metrics[share]
            assert set(one) == {"training", *VIEWS, "called_bright", "area_under_curve", "curves"}
            for name in ("training", *VIEWS):
                curve = one["curves"][name]
                assert len(curve) == TABLE.quick.epochs + 1 and curve[-1] == one[name]
                counted = np.array(curve) * (learnt if name == "training" else tested)
                # Shares of so many images, recorded with four decimals.
                np.testing.assert_allclose(counted, counted.round(), atol=5e-5 * learnt)


def test_a_seed_alone_gives_what_it_gives_among_others_and_twice_the_same(quick):
    assert run_light_effect(SMALL, [2]) == run_light_effect(SMALL, [1, 2])[1:]


def test_a_pair_of_digits_is_lit_both_ways_round(quick):
    first, second, third = (metrics["classes"] for metrics in quick)
    assert first == second[::-1] and set(first) != set(third)
    pairs = [run_light_effect(replace(SMALL, per_class=5, epochs=1, lit=()), [k])[0] for k in range(0, 90, 2)]
    assert len({frozenset(metrics["classes"]) for metrics in pairs}) == 45
    # What one half of the images leaves open of the other half's brightness is the choice of test images.
    assert quick[0]["area_of_brightness"] + quick[1]["area_of_brightness"] == pytest.approx(1, abs=0.3)


def test_networks_trained_on_different_shares_start_as_one_and_the_shares_do_not_see_each_other():
    both, alone = run_light_effect(SMALL, [0])[0], run_light_effect(replace(SMALL, lit=(0.0,)), [0])[0]
    assert both["lit_0"] == alone["lit_0"]
    for name in VIEWS:
        assert both["lit_100"]["curves"][name][0] == both["lit_0"]["curves"][name][0]


def test_light_reduces_the_levels_to_its_half_and_leaves_what_has_none():
    levels = np.array([[0, 255], [0, 255], [10, 20]], dtype=np.uint8)
    begins = np.array([combes2018.DARK, combes2018.BRIGHT, np.nan])
    seen = 255 * combes2018._with_light(levels, begins).double().numpy()
    # Single precision, twice rounded.
    np.testing.assert_allclose(seen, [[0, 127], [128, 255], [10, 20]], atol=255 * 2**-22)


def test_both_classes_are_as_many_among_the_images_to_train_and_to_test():
    labels = np.repeat([1.0, -1.0], [30, 20])
    chosen, signs = combes2018._balanced(labels, None, np.random.default_rng(0))
    assert len(set(chosen)) == 40 and (labels[chosen] == signs).all()
    assert np.cumsum(signs)[1::2].tolist() == [0] * 20


def test_light_in_every_image_is_all_that_is_learnt_and_without_it_the_shape_is(quick):
    for metrics in quick:
        always, often, never = (metrics[share] for share in ("lit_100", "lit_90", "lit_0"))
        assert always["training"] == always["modified"] == 1
        assert always["swapped"] <= 0.05 and never["real"] >= 0.9
        assert never["area_under_curve"] > always["area_under_curve"]
        assert often["real"] > always["real"]


def test_cats_and_dogs_come_from_the_folder_of_the_reader(tmp_path, monkeypatch):
    config = replace(SMALL, images="cats-dogs", side=6, per_class=5, epochs=60)
    monkeypatch.delenv("LEARNING_DYNAMICS_CATS_DOGS", raising=False)
    with pytest.raises(
        FileNotFoundError, match=r"no cat in None: set LEARNING_DYNAMICS_CATS_DOGS to a folder"
    ):
        run_light_effect(config, [0])
    monkeypatch.setenv("LEARNING_DYNAMICS_CATS_DOGS", str(tmp_path))
    (tmp_path / "cat.0.jpg").write_bytes(b"no picture")
    with pytest.raises(
        FileNotFoundError, match=r"no dog in .* with dog.0.jpg and so on, or with a folder Dog"
    ):
        run_light_effect(config, [0])
    with pytest.raises(ValueError, match=r"cat.0.jpg' is no image"):
        combes2018._square(tmp_path / "cat.0.jpg", 6)
    for animal, colour in (("cat", (200, 0, 0)), ("dog", (0, 0, 200))):
        for number in range(6):
            Image.new("RGB", (20, 12), colour).save(tmp_path / f"{animal}.{number}.jpg")
    [metrics] = run_light_effect(config, [0])
    assert metrics["classes"] == ["dog", "cat"] and metrics["examples"] == [8, 2]
    assert metrics["lit_0"]["real"] == 1  # red against blue


def test_cats_and_dogs_are_found_in_both_layouts_and_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv("LEARNING_DYNAMICS_CATS_DOGS", str(tmp_path))
    (tmp_path / "Dog").mkdir()
    for name in ("cat.10.jpg", "cat.9.jpg", "Dog/1.jpg"):
        Image.new("RGB", (30, 20), "white").save(tmp_path / name)
    files, labels = combes2018._cats_and_dogs()
    assert [path.name for path in files] == ["cat.9.jpg", "cat.10.jpg", "1.jpg"]
    assert labels.tolist() == [-1, -1, 1]
    assert (combes2018._square(files[0], 8) == np.full((8, 8, 3), 255)).all()


def test_the_papers_size_is_what_the_paper_says():
    config = TABLE.full
    assert (config.images, config.step, config.betas) == ("cats-dogs", 1e-4, (0.9, 0.99))
    # VGG16: thirteen convolutions and three dense layers, five halvings of the sides.
    assert sum(map(len, config.blocks)) + len(config.dense) + 1 == 16 and len(config.blocks) == 5
