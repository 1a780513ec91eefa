# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def softmax_step(W, A, x, k, eta):
    """One step on a batch of inputs x (n, d) with the classes k (n,)."""
    z = x @ W.T
    active = np.maximum(z, 0)
    g = np.eye(len(A))[k] - softmax(active @ A.T, axis=1)
    in_W = ((g @ A) * (z > 0)).T @ x / len(x)
    return W + eta * in_W, A + eta * g.T @ active / len(x)


# %%NBQA-CELL-SEP476b88
def draw(family, C, rng, n=5):
    """Inputs (C n, 4 C) that satisfy (H4), and their classes."""
    k = np.repeat(np.arange(C), n)
    if family == "corners":  # cones around the corners of a simplex
        across = rng.standard_normal((len(k), 3 * C))
        across *= 0.95 * np.sqrt(1 / C) / np.linalg.norm(across, axis=1)[:, None]
        across *= np.sqrt(rng.random((len(k), 1)))
        x = np.hstack([(np.eye(C) - 1 / C)[k], across])
    else:  # blocks of coordinates, orthogonal or a little beyond
        block = np.kron(np.eye(C), np.ones(4))[k]
        x = block * (1e-3 + rng.random((len(k), 4 * C)) ** (6 if family == "edge" else 1))
        x -= (1e-6 if family == "edge" else 0) * (1 - block) * x.mean(axis=0)
    return x * np.exp(rng.uniform(-2, 2, (len(k), 1))) / np.linalg.norm(
        x, axis=1, keepdims=True
    ), k


def start(x, k, neurons, rng):
    """Weights that satisfy (H5), close to its edge; the classes of the neurons; sizes for A."""
    own = np.repeat(np.unique(k), neurons)
    unit, side = (
        x / np.linalg.norm(x, axis=1)[:, None],
        np.where(own[:, None] == k, 1, -1),
    )
    pull, W = side @ unit, rng.standard_normal((len(own), x.shape[1]))
    need = (-side * (W @ unit.T) / (side * (pull @ unit.T))).max(axis=1)
    W += 1.01 * np.maximum(need, 0)[:, None] * pull
    if not (x[k == 0] @ x[k != 0].T).any():  # the first neuron is zero on the other classes
        W[0] *= (x[k == 0] > 0).any(axis=0)
    assert ((W @ x.T > 0) == (side > 0)).all(), "the start does not satisfy (H5)"
    size = 10 ** rng.uniform(-4, 0)
    A = size * np.exp(rng.uniform(-1, 1, (len(np.unique(k)), len(own))))
    return size * W / np.linalg.norm(W, axis=1)[:, None], own, A


# %%NBQA-CELL-SEP476b88
rng = generator(1)
x, k = draw("corners", 3, rng)
x /= np.linalg.norm(x, axis=1)[:, None]
W, own, _ = start(x, k, 1, rng)
W *= 0.2 / np.linalg.norm(W, axis=1)[:, None]
A = np.full((3, 3), -0.3) + 0.1 * np.eye(3) - 0.1 * np.roll(np.eye(3), 1, axis=0)
path = [A]
for _ in range(400):
    some = rng.permutation(15)[:5]
    W, A = softmax_step(W, A, x[some], k[some], 0.2)
    path.append(A)
path = np.array(path)[:, :, 0]
fig, axes = figures.panels(1)
for entry, colour in zip(path.T, (figures.SIMULATION, figures.CONTRAST, figures.CONTRAST)):
    axes.plot(entry, color=colour)
axes.plot(0 * path[:, 0] + path[0].mean(), **figures.DASHED)
axes.annotate("own class", (200, path[200, 0] + 0.15), color=figures.SIMULATION, ha="right")
axes.annotate("others", (250, path[250, 1:].max() + 0.12), color=figures.CONTRAST)
axes.set(xlabel="steps", ylabel="output weights")
say(drift=float(np.abs(path.mean(axis=1) - path[0].mean()).max()))
plt.show()


# %%NBQA-CELL-SEP476b88
def watch(x, k, W, own, A, rng, batch, steps=200):
    """How much is wrong over a run: as repaired, as printed, by columns, and active neurons."""
    seen, mine, table = np.zeros(4), np.arange(len(A))[:, None] == own, own == k[:, None]
    sums, before = A.sum(axis=0), A
    for _ in range(steps):
        z, low = x @ W.T, np.sum(A[mine] <= 0)
        wrong, columns = np.sum((z > 0) != table), np.sum(A.argmax(axis=0) != own)
        printed = np.sum((z >= 0) != table) + low + np.sum(A[~mine] >= 0)
        columns += np.sum(np.where(mine, A - before, before - A) < 0)
        columns += np.sum(abs(A.sum(axis=0) - sums) > 1e-11 * np.abs(A).max(axis=0))
        seen += [wrong + low + np.sum(A[~mine] > 0), printed, wrong + columns, wrong]
        before = A
        some = rng.permutation(len(x))[: rng.integers(1, batch + 1)]
        W, A = softmax_step(W, A, x[some], k[some], 10 ** rng.uniform(-3, 3))
    return seen


many = {}
for number in range(15):
    rng, family = generator(40 + number), ("blocks", "edge", "corners")[number // 5]
    for C, neurons, batch in ((3, 1, 1), (4, 3, 1), (4, 2, 12)):
        x, k = draw(family, C, rng)
        W, own, A = start(x, k, neurons, rng)
        mine = np.arange(C)[:, None] == own
        signed = np.where(mine, A, -A * (rng.random(A.shape) < 0.7))
        top = np.where(mine, A + A.max(axis=0), A)
        top -= 1.1 * top.max(axis=0) * (np.arange(len(own)) % 2)
        rows = np.where(mine, A + A.max(), A) * 4.0 ** np.arange(C)[:, None]
        for kind, A0 in (("signed", signed), ("top", top), ("rows", rows / rows.max())):
            counts = watch(x, k, W, own, A0, rng, batch)
            many.setdefault((kind, neurons), []).append(counts)
many = {kind: np.array(counts).T for kind, counts in many.items()}


# %%NBQA-CELL-SEP476b88
def cases(kind, column, neurons=(1, 3, 2)):
    return [many[kind, n][column] for n in neurons]


rows = "the entry of the own class is positive, and the largest of its row"
signs = Variant(rows, many["rows", 1][3], share=0.8)
zeros = Variant("'non-negative' and 'negative'", many["signed", 1][1])
wide = Variant(rows, cases("rows", 3, (3, 2)), share=0.8)
tops = Variant(rows, cases("rows", 3), share=0.8)
none = {
    "predicted": 0.0,
    "because": "counts of signs, and of sums that move by more than 1e-11",
}
verify_all(
    verify(
        "combes2018-lem-a.1",
        measured=many["signed", 1][0],
        control=signs,
        printed=zeros,
        **none,
    ),
    verify(
        "combes2018-lem-a.1-wide",
        measured=cases("signed", 0, (3, 2)),
        control=wide,
        **none,
    ),
    verify(
        "combes2018-ours-softmax",
        measured=cases("top", 2),
        control=tops,
        **none,
    ),
)


# %%NBQA-CELL-SEP476b88
counts = np.zeros((2, 2), dtype=int)
for number in range(60):
    rng = generator(100 + number)
    x, k = draw("corners", 3, rng)
    W, own, _ = start(x, k, 1, rng)
    W *= 0.1 / np.linalg.norm(W, axis=1)[:, None]
    A = 0.1 * rng.standard_normal((3, 3))
    top = A.argmax(axis=0) == own
    lost = np.zeros(3, dtype=bool)
    for _ in range(400):
        some = rng.integers(15, size=5)
        W, A = softmax_step(W, A, x[some], k[some], 0.05)
        lost |= (((x @ W.T) <= 0) & (k[:, None] == own)).any(axis=0)
    for j in range(3):
        counts[int(top[j]), int(lost[j])] += 1
say(below=int(counts[0].sum()), below_lost=int(counts[0, 1]), all_top=int(counts[1].sum()))
say(top_lost=int(counts[1, 1]))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
