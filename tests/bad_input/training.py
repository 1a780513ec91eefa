"""Bad arguments of the training of networks: tensors, layers, objectives, optimisers and runs."""

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from lib import batches, environments, layers, mlps, objectives, optimisers, seeds, tensors, training
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

GENERATORS = seeds.seed_generators(0, 2)
NETWORK = mlps.draw_mlps((2, 3, 1), GENERATORS)
FROZEN = mlps.draw_mlps((2, 3, 1), GENERATORS).requires_grad_(False)
INPUTS = torch.tensor(np.random.default_rng(0).standard_normal((4, 2)))
LABELS = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
LOGITS = torch.zeros(2, 4, dtype=torch.float64)
GROUPS = torch.tensor([0, 1, 1, 0])
WEIGHTS, BIASES = ([value.detach() for value in part] for part in (NETWORK.weights, NETWORK.biases))
ZERO = NOT_WHOLE | st.just(0)
NO_TENSOR = NOT_NUMBERS | st.sampled_from([1.0, np.ones((4, 2)), torch.ones(4, 2, dtype=torch.complex64)])
NO_GENERATORS = st.sampled_from([[], None, 3, [0, 1], [np.random.default_rng(0)] * 2])


def as_tensors(arrays: SearchStrategy) -> SearchStrategy:
    return arrays.map(lambda array: torch.tensor(np.asarray(array, dtype=float)))


NOT_LABELS = (
    as_tensors(holding(LABELS.numpy(), st.floats().filter(lambda value: abs(value) != 1)))
    | st.sampled_from([torch.ones(3), torch.ones(2, 2, 4), torch.ones(3, 4)])
    | NOT_NUMBERS
)
NOT_INPUTS = (
    as_tensors(holding(INPUTS.numpy(), NOT_FINITE))
    | st.sampled_from([INPUTS.float(), INPUTS[:, :1], INPUTS.expand(3, 4, 2), INPUTS[0], INPUTS[:0]])
    | NO_TENSOR
)
NOT_GROUPS = st.sampled_from(
    [
        torch.tensor([0, 2, 2, 0]),
        torch.tensor([0, -1, 1, 0]),
        torch.tensor([0, 10**9, 1, 0]),
        torch.tensor([[0, 0, 1, 1], [0, 0, 0, 0]]),
        torch.tensor(0),
        torch.zeros(0, dtype=torch.long),
        torch.ones(4),
        [0, 1, 1, 0],
    ]
)
NOT_WEIGHTS = (
    as_tensors(holding(np.ones(4), NEGATIVE | NOT_FINITE) | misshapen(np.ones(4)))
    | st.sampled_from([torch.tensor([0.0, 1, 1, 0]), torch.ones(4, dtype=torch.long)])
    | NO_TENSOR.filter(lambda value: value is not None)
)
NOT_PAIRS = st.sampled_from(
    [1.0, None, "ab", (1.0,), (1.0, 2.0, 3.0), (np.nan, 1.0), (1.0, np.inf), ("a", 1.0)]
)
NOT_MEMORY = st.sampled_from(
    [
        {},
        3,
        {"optimiser": {}, "objective": None, "batches": None},
        training.train(
            NETWORK,
            INPUTS,
            LABELS,
            objective=objectives.cross_entropy,
            optimiser=optimisers.Adam(0.1),
            steps=1,
        ).memory,
    ]
)
GROUPED = {"groups": GROUPS, "weights": torch.ones(4)}
NOT_GROUPED = {"groups": NOT_GROUPS, "weights": NOT_WEIGHTS}


def called(make, **settings):
    """Make an objective and call it, so that the arguments of both can be bad."""

    def call(logits, labels, **made):
        return make(**made)(logits, labels)

    call.__module__, call.__qualname__ = make.__module__, make.__qualname__
    valid = {**settings, "logits": LOGITS, "labels": LABELS}
    return call, valid


def grouped(make, **bad):
    """The case of an objective of groups whose further arguments are positive numbers."""
    call, valid = called(make, **GROUPED, **dict.fromkeys(bad, 0.5))
    logits = st.sampled_from([LOGITS[:, :3], LOGITS[0], LOGITS[None]]) | NO_TENSOR
    return Case(call, valid, {**NOT_GROUPED, **bad, "logits": logits, "labels": NOT_LABELS})


def penalised(make, valid, bad):
    call, valid = called(make, **valid)
    return Case(call, valid, {**bad, "logits": NO_TENSOR, "labels": NOT_LABELS})


def differentiate(network, inputs, value):
    return mlps.gradient_function(network)(inputs, value)


differentiate.__module__, differentiate.__qualname__ = "lib.mlps", "gradient_function"

CASES = [
    Case(
        tensors.tensor,
        {"name": "value", "value": INPUTS},
        {"value": NO_TENSOR | as_tensors(holding(INPUTS.numpy(), NOT_FINITE)) | st.just(INPUTS[:0])},
    ),
    Case(
        tensors.shaped,
        {"name": "value", "value": INPUTS},
        {"value": NOT_NUMBERS | st.sampled_from([1.0, np.ones((4, 2)), INPUTS[:0]])},
    ),
    Case(
        tensors.usable_device,
        {"name": "value", "value": "cpu"},
        {"value": st.sampled_from(["nowhere", 3.5, "cpu:x", None, [1]])},
    ),
    Case(tensors.signed, {"name": "value", "value": LABELS, "like": LOGITS}, {"value": NOT_LABELS}),
    Case(
        seeds.seed_generators,
        {"seed": 3, "count": 2},
        {"seed": NOT_WHOLE | st.integers(2**63, 2**70), "count": ZERO},
    ),
    Case(seeds.checked_generators, {"generators": GENERATORS}, {"generators": NO_GENERATORS}),
    Case(
        batches.Batches,
        {"n": 4, "size": 2, "generators": GENERATORS},
        {"n": ZERO, "size": ZERO, "generators": NO_GENERATORS},
    ),
    Case(
        layers.BatchNorm,
        {"seeds": 2, "features": 3, "momentum": 0.1, "epsilon": 1e-5},
        {"seeds": ZERO, "features": ZERO, "momentum": outside(0, 1), "epsilon": NOT_POSITIVE},
    ),
    Case(
        layers.Dropout,
        {"probability": 0.5, "generators": GENERATORS},
        {"probability": outside(0, 1) | st.just(1.0) | NOT_NUMBERS, "generators": NO_GENERATORS},
    ),
    Case(
        mlps.MlpBatch,
        {"weights": WEIGHTS, "biases": BIASES, "norms": [layers.BatchNorm(2, 3)]},
        {
            "weights": st.sampled_from(
                [
                    [],
                    WEIGHTS[:1],
                    [WEIGHTS[0], WEIGHTS[1][:1]],
                    [WEIGHTS[0].long(), WEIGHTS[1]],
                    [WEIGHTS[0] * np.nan],
                ]
            ),
            "biases": st.sampled_from(
                [
                    [],
                    BIASES[:1],
                    BIASES[::-1],
                    [BIASES[0].float(), BIASES[1]],
                    [BIASES[0] * np.inf, BIASES[1]],
                ]
            ),
            "norms": st.sampled_from([[layers.BatchNorm(2, 3)] * 2]),
        },
    ),
    Case(
        mlps.draw_mlps,
        {"widths": (2, 3, 1), "generators": GENERATORS, "initialisation": "xavier", "dropout": 0.1},
        {
            "widths": st.sampled_from([(), (1,), (2, 3), (2, 0, 1), (2, 1.5, 1), (2, -3, 1)]),
            "generators": NO_GENERATORS,
            "initialisation": st.sampled_from(["normal", None, 3]),
            "dtype": st.sampled_from([torch.int64, torch.complex64, "float", None]),
        },
    ),
    Case(
        mlps.trainable,
        {"network": NETWORK},
        {"network": st.sampled_from([None, torch.nn.ReLU(), FROZEN, torch.zeros(2)])},
    ),
    Case(
        differentiate,
        {"network": NETWORK, "inputs": INPUTS, "value": lambda logits: logits.mean(dim=-1)},
        {
            "network": st.sampled_from([None, 3, torch.zeros(2), FROZEN]),
            "inputs": st.sampled_from([INPUTS[:, :1], INPUTS.expand(3, 4, 2), INPUTS[0], INPUTS.float()])
            | NO_TENSOR,
            "value": st.sampled_from([lambda logits: logits.sum(), lambda logits: logits, None]),
        },
    ),
    Case(
        objectives.cross_entropies,
        {"logits": LOGITS, "labels": LABELS},
        {"logits": NO_TENSOR, "labels": NOT_LABELS},
    ),
    Case(
        objectives.cross_entropy,
        {"logits": LOGITS, "labels": LABELS},
        {"logits": NO_TENSOR, "labels": NOT_LABELS},
    ),
    penalised(
        objectives.spectral_decoupling,
        {"strength": 0.1, "reduction": "sum"},
        {
            "strength": NEGATIVE | NOT_NUMBERS,
            "reduction": st.text().filter(lambda word: word not in ("mean", "sum")),
        },
    ),
    penalised(
        objectives.spectral_decoupling_as_coded,
        {"coefficient": 0.1},
        {"coefficient": NOT_POSITIVE | NOT_NUMBERS},
    ),
    penalised(
        objectives.targeted_decoupling,
        {"strengths": (0.1, 0.2), "targets": (0, 1)},
        {"strengths": NOT_PAIRS | st.tuples(NEGATIVE, st.just(1.0)), "targets": NOT_PAIRS},
    ),
    penalised(
        objectives.targeted_decoupling_as_coded,
        {"coefficient": 0.1, "targets": (0, 1)},
        {"coefficient": NEGATIVE | NOT_NUMBERS, "targets": NOT_PAIRS},
    ),
    grouped(environments.Grouped),
    grouped(environments.Irm, strength=NEGATIVE | NOT_NUMBERS, scale=NOT_POSITIVE),
    grouped(environments.VRex, strength=NEGATIVE | NOT_NUMBERS, scale=NOT_POSITIVE),
    grouped(environments.GroupDro, rate=NOT_POSITIVE | NOT_NUMBERS),
    Case(
        optimisers.Sgd,
        {"step": 0.1, "momentum": 0.9, "weight_decay": 0.1},
        {
            "step": NOT_POSITIVE | NOT_NUMBERS,
            "momentum": outside(0, 1) | st.just(1.0),
            "weight_decay": NEGATIVE,
        },
    ),
    Case(
        optimisers.Adam,
        {"step": 0.1, "betas": (0.9, 0.99), "epsilon": 1e-8, "weight_decay": 0.1},
        {
            "step": NOT_POSITIVE | NOT_NUMBERS,
            "betas": st.sampled_from([0.9, (0.9,), (0.9, 1.0), (-0.1, 0.9), (np.nan, 0.9), None]),
            "epsilon": NOT_POSITIVE,
            "weight_decay": NEGATIVE,
        },
    ),
    Case(
        training.train,
        {
            "network": NETWORK,
            "inputs": INPUTS,
            "labels": LABELS,
            "objective": objectives.cross_entropy,
            "optimiser": optimisers.Sgd(0.1),
            "steps": 2,
            "record": lambda network: None,
            "record_at": (0, 2),
            "batch_size": 2,
            "generators": GENERATORS,
        },
        {
            "network": st.sampled_from(
                [None, 3, torch.nn.ReLU(), torch.nn.Linear(2, 3, dtype=torch.float64)]
            ),
            "inputs": NOT_INPUTS,
            "labels": NOT_LABELS,
            "objective": st.sampled_from([None, "cross-entropy", lambda f, y: f.mean(), lambda f, y: f]),
            "optimiser": st.sampled_from([None, 0.1, "adam"]),
            "steps": NOT_WHOLE,
            "record": st.sampled_from([3, "loss"]),
            "record_at": st.sampled_from([(3,), (-1,), (0.5,), ("a",), 3]),
            "batch_size": ZERO,
            "generators": NO_GENERATORS | st.just(GENERATORS[:1]),
            "memory": NOT_MEMORY,
            "device": st.sampled_from(["nowhere", 3.5]),
        },
    ),
]
EXEMPT = {}
