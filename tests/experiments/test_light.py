"""Brightness that reveals the class: what the images become, and what networks learn of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from experiments import light
from experiments.convolutional import Convolutional
from experiments.light import VGG16, LightEffect, run_light_effect

SMALL = LightEffect(images="digits", per_class=20, blocks=((4,),), dense=(), step=1e-2, epochs=2)
VIEWS = ("modified", "real", "swapped")


def test_every_pair_of_digits_is_lit_both_ways_round():
    config = replace(SMALL, per_class=5, epochs=1, lit=())
    pairs = [tuple(run_light_effect(config, k)["classes"]) for k in range(90)]
    assert len(set(pairs)) == 90 and [(b, a) for a, b in pairs[::2]] == pairs[1::2]


def test_each_seed_has_a_start_of_its_own(monkeypatch):
    config = replace(SMALL, per_class=100, epochs=0, lit=(0.0,))
    images = light.read_images(config.images, config.side, 100, 0, np.random.default_rng(0))
    monkeypatch.setattr(light, "read_images", lambda *_: images)
    assert (
        len({one["lit_0"]["area_under_curve"] for one in (run_light_effect(config, k) for k in range(3))})
        == 3
    )


def test_the_network_of_the_paper_has_the_convolutions_of_vgg16():
    network = Convolutional((3, 32, 32), VGG16, (), torch.Generator())
    assert sum(map(torch.numel, network.parameters())) == 14_714_688 + 513


def test_networks_trained_on_different_shares_start_as_one_and_the_shares_do_not_see_each_other():
    both, alone = run_light_effect(SMALL, 0), run_light_effect(replace(SMALL, lit=(0.0,)), 0)
    assert both["lit_0"] == alone["lit_0"]
    for name in VIEWS:
        assert both["lit_100"]["curves"][name][0] == both["lit_0"]["curves"][name][0]


def test_cats_and_dogs_come_from_the_folder_of_the_reader(tmp_path, monkeypatch):
    config = replace(SMALL, images="cats-dogs", side=6, per_class=5, epochs=60)
    monkeypatch.delenv("LEARNING_DYNAMICS_CATS_DOGS", raising=False)
    with pytest.raises(FileNotFoundError, match="in None: set LEARNING_DYNAMICS_CATS_DOGS to a folder"):
        run_light_effect(config, 0)
    monkeypatch.setenv("LEARNING_DYNAMICS_CATS_DOGS", str(tmp_path))
    (tmp_path / "cat.0.jpg").write_bytes(b"no picture")
    with pytest.raises(FileNotFoundError, match=f"no cats or no dogs in '{tmp_path}'"):
        run_light_effect(config, 0)
    (tmp_path / "Dog").mkdir()
    (tmp_path / "Dog" / "0.jpg").write_bytes(b"no picture")
    with pytest.raises(OSError, match=r"cannot identify image file .*jpg"):
        run_light_effect(config, 0)
    for number in range(6):
        Image.new("RGB", (20, 12), (200, 0, 0)).save(tmp_path / f"cat.{number}.jpg")
        Image.new("RGB", (20, 12), (0, 0, 220)).save(tmp_path / "Dog" / f"{number}.jpg")
    metrics = run_light_effect(config, 0)
    assert metrics["classes"] == ["dog", "cat"] and metrics["examples"] == [8, 2]
    # Red against a blue that is brighter.
    assert metrics["lit_0"]["real"] == metrics["area_of_brightness"] == 1
