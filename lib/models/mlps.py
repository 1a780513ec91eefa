"""Multilayer perceptrons of many seeds in one batch, with dropout and batch normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from itertools import pairwise

import torch

from lib.checks import choice, whole
from lib.experiments.layers import BatchNorm, Dropout
from lib.training.seeds import checked_generators
from lib.training.tensors import tensor

Values = Callable[[torch.Tensor], torch.Tensor]
"""Maps logits (seeds, n) to one number a seed."""

# One number a seed, and the gradient of their sum in each parameter.
Gradients = tuple[torch.Tensor, list[torch.Tensor]]


class MlpBatch(torch.nn.Module):
    """Independent multilayer perceptrons with scalar output, stacked along a leading axis of seeds.

    Weights are (seeds, inputs, outputs) and biases (seeds, 1, outputs), one pair a layer.  A hidden layer is
    ``dropout(activation(norm(h W + b)))``, with one of ``norms`` for each hidden layer or none at all, and
    one ``dropout`` for all or none.  Called with inputs of shape (n, d), the same for all seeds, or
    (seeds, n, d), it returns logits of shape (seeds, n).  Raises ``ValueError`` for shapes that do not fit
    one after the other, parameters that are not finite, and another number of outputs than 1.

    Example: the absolute value, and twice it, of one input.

    >>> weights = [torch.tensor([[[1.0, -1.0]]] * 2), torch.tensor([[[1.0], [1.0]], [[2.0], [2.0]]])]
    >>> network = MlpBatch(weights, [torch.zeros(2, 1, 2), torch.zeros(2, 1, 1)])
    >>> network(torch.tensor([[-3.0], [0.5]])).detach()
    tensor([[3.0000, 0.5000],
            [6.0000, 1.0000]])
    """

    def __init__(
        self,
        weights: Sequence[torch.Tensor],
        biases: Sequence[torch.Tensor],
        activation: Callable[[torch.Tensor], torch.Tensor] = torch.relu,
        norms: Sequence[BatchNorm] = (),
        dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        _check_layers(weights, biases)
        if len(norms) not in (0, len(weights) - 1):
            raise ValueError(f"norms has {len(norms)} layers, allowed: 0 or {len(weights) - 1}")
        self.weights = torch.nn.ParameterList(weights)
        self.biases = torch.nn.ParameterList(biases)
        self.activation = activation
        self.norms = torch.nn.ModuleList(norms)
        self.dropout = dropout

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (seeds, n)."""
        hidden = _for_each_seed(inputs, self.weights[0])
        # No slices of a ParameterList: they wrap its entries anew, out of sight of torch.func.
        layers = list(zip(self.weights, self.biases, strict=True))
        for k, (weight, bias) in enumerate(layers[:-1]):
            hidden = torch.baddbmm(bias, hidden, weight)
            if len(self.norms):
                hidden = self.norms[k](hidden)
            hidden = self.activation(hidden)
            if self.dropout is not None:
                hidden = self.dropout(hidden)
        weight, bias = layers[-1]
        return torch.baddbmm(bias, hidden, weight).squeeze(-1)

    def seed(self, k: int) -> MlpBatch:
        """Return a copy of the network of one seed, as a batch of one."""
        if not 0 <= k < len(self.weights[0]):
            raise ValueError(f"k is {k}, allowed: 0 to {len(self.weights[0]) - 1}")
        one = deepcopy(self)
        for value in (*one.parameters(), *one.buffers()):
            value.data = value.data[k : k + 1].clone()
        if one.dropout is not None:
            one.dropout.generators = one.dropout.generators[k : k + 1]
        return one


def _for_each_seed(inputs: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return the inputs with the axis of seeds of the first layer's weights."""
    seeds, features, _ = weight.shape
    shapes = ("n", features), (seeds, "n", features)
    tensor("inputs", inputs, *shapes, finite=False, dtype=weight.dtype)
    return inputs if inputs.ndim == 3 else inputs.expand(seeds, *inputs.shape)


def trainable(network: torch.nn.Module) -> list[torch.Tensor]:
    """Return the parameters that require gradients, in the order of ``network.parameters()``.

    Raises ``ValueError`` for what is no torch module, and if there are none.

    Example: a first layer trained alone.

    >>> from lib.training.seeds import seed_generators
    >>> network = draw_mlps((2, 3, 1), seed_generators(0, 2))
    >>> _ = network.requires_grad_(False)
    >>> _ = network.weights[0].requires_grad_(True)
    >>> [tuple(value.shape) for value in trainable(network)]
    [(2, 2, 3)]
    """
    parameters = network.parameters() if isinstance(network, torch.nn.Module) else ()
    found: list[torch.Tensor] = [value for value in parameters if value.requires_grad]
    if not found:
        raise ValueError(f"network is {network!r}, allowed: a torch.nn.Module with parameters to train")
    return found


def gradient_function(network: torch.nn.Module) -> Callable[[torch.Tensor, Values], Gradients]:
    """Return the function that differentiates a number a seed in all parameters that require gradients.

    The function takes inputs as the network does, and ``value``, which maps logits (seeds, n) to one number a
    seed.  It returns these numbers, shape (seeds,), and the gradients of their sum, which are each seed's
    own, in the order of :func:`lib.models.mlps.trainable`.  It follows the parameters when they are changed in
    place, but not when the network gets other layers or another mode.  Raises ``ValueError`` for a network
    that is no torch module or has nothing to train; the function does for inputs that do not fit and a
    ``value`` that does not return one number a seed.

    Example: the slope of the mean logit in the last bias is 1 for each seed.

    >>> from lib.training.seeds import seed_generators
    >>> network = draw_mlps((2, 3, 1), seed_generators(0, 2))
    >>> inputs = torch.ones(4, 2, dtype=torch.float64)
    >>> values, slopes = gradient_function(network)(inputs, lambda logits: logits.mean(dim=-1))
    >>> slopes[-1].flatten()
    tensor([1., 1.], dtype=torch.float64)
    """
    parameters = trainable(network)
    if isinstance(network, MlpBatch) and _is_plain(network):
        return partial(_by_hand, list(network.weights), list(network.biases))

    def by_autograd(inputs: torch.Tensor, value: Values) -> Gradients:
        with torch.enable_grad():
            return _differentiate(value, network(inputs), parameters)

    return by_autograd


def _is_plain(network: MlpBatch) -> bool:
    if network.activation is not torch.relu or len(network.norms):
        return False
    acting = network.dropout is not None and network.dropout.training
    return not acting and all(value.requires_grad for value in (*network.weights, *network.biases))


def _by_hand(
    weights: list[torch.Tensor], biases: list[torch.Tensor], inputs: torch.Tensor, value: Values
) -> Gradients:
    """Differentiate by hand: with half the memory traffic of autograd, which decides the time."""
    layers = [_for_each_seed(inputs, weights[0])]
    with torch.no_grad():
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            layers.append(torch.baddbmm(bias, layers[-1], weight).relu_())
        logits = torch.baddbmm(biases[-1], layers[-1], weights[-1]).squeeze(-1)
    values, (slopes,) = _differentiate(value, logits.requires_grad_(), [logits])
    back = slopes.unsqueeze(-1)
    with torch.no_grad():
        if len(layers) == 1:
            return values, [torch.bmm(layers[0].mT, back), back.sum(dim=1, keepdim=True)]
        # A unit of the last hidden layer adds active * (hidden W + b) * out to the logit: sums over the
        # examples where it is active give the gradients in W, b and out at once.
        active, hidden, out = layers.pop().sign_(), layers[-1], weights[-1].mT
        linear, constant = torch.bmm(torch.cat([back * hidden, back], dim=-1).mT, active).split(
            [hidden.shape[-1], 1], dim=1
        )
        level = (weights[-2] * linear).sum(dim=1, keepdim=True) + biases[-2] * constant
        slopes_of = [(level.mT, back.sum(dim=1, keepdim=True)), (linear * out, constant * out)]
        if len(layers) > 1:
            back = torch.bmm(active, (weights[-2] * out).mT).mul_(back)
        for weight in weights[-3::-1]:
            torch.ops.aten.threshold_backward.grad_input(back, layers.pop(), 0, grad_input=back)
            slopes_of.append((torch.bmm(layers[-1].mT, back), back.sum(dim=1, keepdim=True)))
            if len(layers) > 1:
                back = torch.bmm(back, weight.mT)
    in_weights, in_biases = zip(*reversed(slopes_of), strict=True)
    return values, [*in_weights, *in_biases]


def _differentiate(value: Values, logits: torch.Tensor, parameters: list[torch.Tensor]) -> Gradients:
    if not callable(value):
        raise ValueError(f"value is {value!r}, allowed: a function of the logits")
    with torch.enable_grad():
        values = value(logits)
        if not isinstance(values, torch.Tensor) or values.shape != logits.shape[:1]:
            got = f"shape {tuple(values.shape)}" if isinstance(values, torch.Tensor) else repr(values)
            raise ValueError(f"value, the objective, returns {got}, allowed: shape {tuple(logits.shape[:1])}")
        return values.detach(), list(torch.autograd.grad(values, parameters, torch.ones_like(values)))


def draw_mlps(
    widths: Sequence[int],
    generators: Sequence[torch.Generator],
    *,
    dtype: torch.dtype = torch.float64,
    initialisation: str = "uniform",
    batch_norm: bool = False,
    dropout: float = 0.0,
) -> MlpBatch:
    """Draw one ReLU perceptron for each generator.

    ``widths`` are the sizes of input, hidden layers and output, the last one 1.  With ``initialisation``
    ``"uniform"``, the default of ``torch.nn.Linear``, weights and biases are uniform in ``+-1/sqrt(inputs)``;
    with ``"xavier"`` the weights are uniform in ``+-sqrt(6/(inputs + outputs))`` and the biases zero.
    ``batch_norm`` puts a :class:`lib.experiments.layers.BatchNorm` before each activation, ``dropout`` is the probability
    of a :class:`lib.experiments.layers.Dropout` after each; its masks follow from the generators too.  Raises
    ``ValueError`` for another output size or no generators.

    Example:

    >>> from lib.training.seeds import seed_generators
    >>> network = draw_mlps((2, 100, 1), seed_generators(0, 10))
    >>> network(torch.zeros(5, 2, dtype=torch.float64)).shape
    torch.Size([10, 5])
    """
    if len(widths) < 2 or widths[-1] != 1:
        raise ValueError(f"widths is {tuple(widths)}, allowed: two or more sizes, the last of them 1")
    sizes = [whole("widths", width, 1) for width in widths]
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"dtype is {dtype!r}, allowed: a torch type of real floats")
    generators = checked_generators(generators)
    choice("initialisation", initialisation, ("uniform", "xavier"))
    xavier = initialisation == "xavier"

    def uniform(shape: tuple[int, int], bound: float) -> torch.Tensor:
        draws = [torch.rand(shape, generator=generator, dtype=dtype) for generator in generators]
        return (2 * torch.stack(draws) - 1) * bound

    weights, biases = [], []
    for inputs, outputs in pairwise(sizes):
        weights.append(
            uniform((inputs, outputs), (6 / (inputs + outputs)) ** 0.5 if xavier else inputs**-0.5)
        )
        biases.append(uniform((1, outputs), 0.0 if xavier else inputs**-0.5))
    norms = [BatchNorm(len(generators), width, dtype=dtype) for width in sizes[1:-1]] if batch_norm else []
    layer = Dropout(dropout, generators)
    return MlpBatch(weights, biases, norms=norms, dropout=layer if layer.probability else None)


def _check_layers(weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor]) -> None:
    if not len(weights) or len(biases) != len(weights):
        raise ValueError(f"biases has {len(biases)} layers, allowed: as many as weights, {len(weights)}")
    seeds: int | str = "seeds"
    inputs: int | str = "inputs"
    for weight, bias in zip(weights, biases, strict=True):
        tensor("weights", weight, (seeds, inputs, "outputs"))
        seeds, _, inputs = weight.shape
        tensor("biases", bias, (seeds, 1, inputs), dtype=weight.dtype)
    if inputs != 1:
        raise ValueError(f"the last of weights has {inputs} outputs, allowed: 1")
