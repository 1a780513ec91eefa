"""Penalties against autograd, closed forms of linear models, and plain loops over environments."""

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from lib.models.mlps import draw_mlps
from lib.training.ensembles import train
from lib.training.environments import GroupDro, Grouped, Irm, VRex
from lib.training.objectives import (
    cross_entropies,
    cross_entropy,
    spectral_decoupling,
    spectral_decoupling_as_coded,
    targeted_decoupling,
    targeted_decoupling_as_coded,
)
from lib.training.optimisers import Adam, Sgd
from lib.training.seeds import seed_generators

SEEDS, N = 3, 40
RNG = np.random.default_rng(0)
LOGITS = torch.tensor(2 * RNG.standard_normal((SEEDS, N)))
LABELS = torch.tensor(RNG.choice([-1.0, 1.0], (SEEDS, N)))
GROUPS = torch.tensor(RNG.integers(0, 3, (SEEDS, N)))
WEIGHTS = torch.tensor(RNG.uniform(0.1, 2, (SEEDS, N)))
INPUTS = torch.tensor(RNG.standard_normal((SEEDS, N, 2)))


def slope(objective, logits=LOGITS, labels=LABELS):
    logits = logits.clone().requires_grad_()
    return torch.autograd.grad(objective(logits, labels).sum(), logits)[0]


def of_seed_and_group(k, group, weighted):
    """Logits, 0-1 labels and shares of one environment, as a plain loop sees them."""
    here = GROUPS[k] == group
    share = WEIGHTS[k][here] if weighted else torch.ones(int(here.sum()), dtype=torch.float64)
    return LOGITS[k][here], (LABELS[k][here] + 1) / 2, share / share.sum()


def risks_and_penalties(k, weighted):
    """Risk of each environment, and the squared gradient in a dummy factor of the logits, by autograd."""
    risks, penalties = [], []
    for group in range(3):
        logits, targets, share = of_seed_and_group(k, group, weighted)
        factor = torch.ones((), dtype=torch.float64, requires_grad=True)
        each = binary_cross_entropy_with_logits(factor * logits, targets, reduction="none")
        risk = (share * each).sum()
        penalties.append(torch.autograd.grad(risk, factor)[0].square())
        risks.append(risk.detach())
    return torch.stack(risks), torch.stack(penalties)


@pytest.mark.parametrize("weighted", [False, True])
def test_environments_equal_plain_loops_with_autograd(weighted):
    weights = {"weights": WEIGHTS} if weighted else {}
    irm, rex = Irm(GROUPS, 7.0, scale=0.5, **weights), VRex(GROUPS, 7.0, scale=0.5, **weights)
    plain, robust = Grouped(GROUPS, **weights), GroupDro(GROUPS, 0.3, **weights)
    state = robust.advance(robust.advance(None, LOGITS, LABELS), LOGITS, LABELS)
    values = [objective(LOGITS, LABELS) for objective in (irm, rex, plain)]
    for k in range(SEEDS):
        risks, penalties = risks_and_penalties(k, weighted)
        q = torch.ones(3, dtype=torch.float64) / 3
        for _ in range(2):
            q = q * torch.exp(0.3 * risks)
            q = q / q.sum()
        expected = (
            0.5 * (risks.mean() + 7 * penalties.mean()),
            0.5 * (risks.mean() + 7 * np.var(risks.numpy())),
            risks.mean(),
        )
        for value, wanted in zip(values, expected, strict=True):
            assert value[k].item() == pytest.approx(float(wanted), rel=1e-12)
        assert robust(LOGITS, LABELS, state)[k].item() == pytest.approx(float(q @ risks), rel=1e-12)


def test_irm_of_a_linear_model_has_its_gradient_in_closed_form():
    theta, x = torch.tensor([0.7, -0.4], dtype=torch.float64), INPUTS[0]
    y, here = LABELS[0], GROUPS[0]
    expected = torch.zeros(2, dtype=torch.float64)
    for group in range(3):
        features, signs = x[here == group], y[here == group]
        margin = signs * (features @ theta)
        sigma = torch.sigmoid(-margin)
        risk_slope = (-(signs * sigma)[:, None] * features).mean(dim=0)
        factor_slope = (-margin * sigma).mean()
        curvature = -sigma + margin * sigma * (1 - sigma)
        expected += (
            risk_slope + 2 * 5 * factor_slope * ((curvature * signs)[:, None] * features).mean(dim=0)
        ) / 3
    logit_slope = slope(Irm(here, 5.0), (x @ theta)[None], y)
    np.testing.assert_allclose(logit_slope[0] @ x, expected, rtol=1e-12)


def test_two_environments_have_a_quarter_of_the_squared_difference():
    groups = torch.tensor([0] * 10 + [1] * 30)
    risks = [cross_entropy(LOGITS[:, part], LABELS[:, part]) for part in (slice(10), slice(10, 40))]
    penalty = VRex(groups, 1.0)(LOGITS, LABELS) - VRex(groups, 0.0)(LOGITS, LABELS)
    np.testing.assert_allclose(penalty, (risks[0] - risks[1]) ** 2 / 4, rtol=1e-12)


def test_groups_of_equal_size_without_penalty_are_cross_entropy():
    groups = torch.arange(N) % 4
    for objective in (Grouped(groups), Irm(groups, 0.0), VRex(groups, 0.0), GroupDro(groups, 0.1)):
        np.testing.assert_allclose(objective(LOGITS, LABELS), cross_entropy(LOGITS, LABELS), rtol=1e-13)


def test_weights_count_like_repeated_examples():
    counts = torch.tensor(RNG.integers(1, 4, N))
    often = torch.arange(N).repeat_interleave(counts)
    groups = GROUPS[0]
    for make in (Grouped, lambda g, **w: Irm(g, 3.0, **w), lambda g, **w: VRex(g, 3.0, **w)):
        weighted = make(groups, weights=counts.double())(LOGITS, LABELS)
        repeated = make(groups[often])(LOGITS[:, often], LABELS[:, often])
        np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


@pytest.mark.parametrize(
    "make", [Grouped, lambda g: Irm(g, 3.0), lambda g: VRex(g, 3.0), lambda g: GroupDro(g, 0.5)]
)
def test_a_part_of_the_examples_is_the_objective_of_the_groups_in_it(make):
    index = torch.stack(
        [torch.randperm(N, generator=torch.Generator().manual_seed(k))[:9] for k in range(SEEDS)]
    )
    index[0] = (GROUPS[0] == 1).nonzero()[:9, 0]  # one group only
    logits, labels = LOGITS.take_along_dim(index, -1), LABELS.take_along_dim(index, -1)
    objective = make(GROUPS)
    state = objective.advance(objective.start(logits), logits, labels, index)
    values = objective(logits, labels, state, index)
    for k in range(SEEDS):
        present, renumbered = GROUPS[k][index[k]].unique(return_inverse=True)
        if state is None:
            expected = make(renumbered)(logits[k : k + 1], labels[k : k + 1])
        else:
            # Groups that are absent keep their weight, and add a risk of 0.
            each = cross_entropies(logits[k], labels[k])
            risks = torch.stack([each[renumbered == j].mean() for j in range(len(present))])
            expected = state[k].softmax(dim=-1)[present] @ risks
        assert values[k].item() == pytest.approx(expected.item(), rel=1e-12)


def test_spectral_decoupling_printed_and_coded():
    mean, total = spectral_decoupling(0.3), spectral_decoupling(0.3, reduction="sum")
    np.testing.assert_allclose(N * mean(LOGITS, LABELS), total(LOGITS, LABELS), rtol=1e-13)
    pull = -LABELS * torch.sigmoid(-LABELS * LOGITS)
    np.testing.assert_allclose(slope(total), pull + 0.3 * LOGITS, rtol=1e-12)
    np.testing.assert_allclose(slope(mean), (pull + 0.3 * LOGITS) / N, rtol=1e-12)
    coded = spectral_decoupling_as_coded(2e-5)
    np.testing.assert_allclose(slope(coded), 2e-5 * (pull + 2 * LOGITS) / N, rtol=1e-12)


def test_targeted_decoupling_printed_and_coded():
    strengths, targets = (0.088, 0.012), (0.44, 2.5)
    positive = LABELS > 0
    pull = -LABELS * torch.sigmoid(-LABELS * LOGITS)
    distance = LOGITS - torch.where(positive, 2.5, 0.44 + 0 * LOGITS)
    printed = pull + torch.where(positive, 0.012 + 0 * LOGITS, 0.088) * distance
    np.testing.assert_allclose(slope(targeted_decoupling(strengths, targets)), printed / N, rtol=1e-12)
    sizes = torch.where(positive, positive.sum(-1, keepdim=True), (~positive).sum(-1, keepdim=True))
    coded = pull / N + 2 * 0.1 * distance / sizes
    np.testing.assert_allclose(slope(targeted_decoupling_as_coded(0.1)), coded, rtol=1e-12)
    one_class = torch.ones_like(LABELS)
    value = targeted_decoupling_as_coded(0.1)(LOGITS, one_class) - cross_entropy(LOGITS, one_class)
    np.testing.assert_allclose(value, 0.1 * (LOGITS - 2.5).square().mean(-1), rtol=1e-11)


def test_equal_targets_of_zero_are_spectral_decoupling():
    np.testing.assert_allclose(
        targeted_decoupling((0.2, 0.2), (0, 0))(LOGITS, LABELS),
        spectral_decoupling(0.2)(LOGITS, LABELS),
        rtol=1e-13,
    )


@pytest.mark.parametrize("optimiser", [Sgd, Adam])
def test_weight_decay_is_the_gradient_of_its_penalty(optimiser):
    network = draw_mlps((2, 6, 1), seed_generators(0, SEEDS))
    decayed = train(
        network, INPUTS, LABELS, objective=cross_entropy, optimiser=optimiser(0.05, weight_decay=0.3), steps=5
    )
    parameters = [value.detach().clone() for value in network.parameters()]
    plain = optimiser(0.05)
    memory = plain.start(parameters)
    for _ in range(5):
        free = [value.detach().clone().requires_grad_() for value in parameters]
        hidden = torch.relu(torch.baddbmm(free[2], INPUTS, free[0]))
        logits = torch.baddbmm(free[3], hidden, free[1]).squeeze(-1)
        penalty = 0.15 * sum(value.square().sum() for value in free)
        slopes = torch.autograd.grad(cross_entropy(logits, LABELS).sum() + penalty, free)
        with torch.no_grad():
            plain.update(parameters, list(slopes), memory)
    for ours, expected in zip(decayed.network.parameters(), parameters, strict=True):
        np.testing.assert_allclose(ours.detach(), expected, rtol=1e-9, atol=1e-12)
