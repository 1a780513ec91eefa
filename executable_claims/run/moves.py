"""What a run of a chapter compares, says and draws, and how far it has moved from what another run does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from executable_claims.claims.clauses import Clause
from executable_claims.claims.comparison import MISSED
from executable_claims.claims.tables import array, named

ROUNDING = 1e-6  # what moves by less of its size, as what a solver finds does, has not moved
COMPARED = ("measured", *MISSED)
MOVES = 4  # so many are said of a change
GLUED = "application/papermill.record/text/plain"  # of a value that the prose quotes
# What artists of matplotlib have of their data, methods and attributes.
DATA = ("get_xydata", "get_offsets", "get_array", "get_coordinates", "U", "V")


class Refusal(AssertionError):
    """A check has refused, and says which claim."""

    def __init__(self, claim: str, text: str) -> None:
        super().__init__(text)
        self.claim = claim


def refusing(check: Callable, *label: str) -> Callable:
    """Return a check whose errors are refusals of what the label says, or of the claim that it is given."""

    def checked(*given: Any, **named: Any) -> Any:
        try:
            return check(*given, **named)
        except (AssertionError, ValueError) as error:
            raise Refusal((*label, *given)[0], str(error)) from None

    return checked


def comparing(verify: Callable, seen: list) -> Callable:
    """Return a ``verify`` that notes the numbers that it compares, those of its variants as well."""

    def noted(claim: str, *compared: Any, **given: Any) -> Any:
        clauses = [part for part in compared if isinstance(part, Clause)] or [Clause("", *compared)]
        for clause in clauses:
            phrase = f", {clause.says}" if clause.says else ""
            seen.append([f" of {claim}{phrase}", numbers(clause.table, {**given, **clause.check})])
        return refusing(verify)(claim, *compared, **given)

    return noted


def numbers(table: Any, given: dict[str, Any]) -> dict[str, list[float]]:
    """Return the numbers of one comparison, and of its variants."""
    record: dict[str, list[float]] = {}
    for role in ("", "printed ", "control ", "impostor "):
        values = getattr(given.get(role[:-1]), "__dict__", {}) if role else given
        own = table if values.get("table") is None else values["table"]
        if own is not None and not role:
            values = named(own, {name: value for name, value in values.items() if name in COMPARED})
        both = [name for name in COMPARED if values.get(name) is not None]
        columns = {name: np.asarray(array(own, name, values[name]), float) for name in both}
        record |= {role + name: column.ravel().tolist() for name, column in columns.items()}
    return record


def saying(seen: list) -> Callable:
    """Return a ``display`` that notes the values that the prose quotes; what is no number, by its text."""

    def noted(*shown: Any, metadata: Any = None, **_: Any) -> None:
        for text in (data[GLUED] for data in shown if isinstance(data, dict) and GLUED in data):
            name = f"said {metadata['scrapbook']['name']}"
            try:
                seen.append(["", {name: [float(text)]}])
            except ValueError:
                seen.append(["", {f"{name}, {text}": []}])

    return noted


def draw(name: str, seen: list) -> None:
    """Note what the open figures show at the end of their cell, and close them."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        seen += [[f" of {name}", curves(pyplot.figure(number))] for number in pyplot.get_fignums()]
        pyplot.close("all")


def curves(figure: Any) -> dict[str, list[float]]:
    """Return the data that a figure draws, by artist, those of points by coordinate."""
    data: dict[str, list[float]] = {}
    kinds = ("lines", "collections", "patches", "images")
    artists = [artist for axes in figure.axes for kind in kinds for artist in getattr(axes, kind)]
    for k, artist in enumerate(artists, 1):
        parts = [getattr(artist, name, None) for name in DATA]
        tables = [part() if callable(part) else part for part in parts]
        if hasattr(artist, "get_paths") and not hasattr(artist, "get_coordinates"):
            tables += [np.concatenate([np.zeros((0, 2)), *(path.vertices for path in artist.get_paths())])]
        elif hasattr(artist, "get_patch_transform"):
            tables += [artist.get_patch_transform().transform(artist.get_path().vertices)]
        columns: list[np.ndarray] = []
        for table in (part for part in tables if part is not None):
            values: np.ndarray = np.ma.filled(np.ma.asarray(table, float), np.nan)
            columns += [*values.T] if values.ndim == 2 and values.shape[1] == 2 else [values]
        data |= {f"curve {k}, column {j}": part.ravel().tolist() for j, part in enumerate(columns, 1)}
    return data


def distance(before: Sequence[float] | None, after: Sequence[float] | None) -> tuple[float, float]:
    """Return how far numbers are from what they were, at most, and the largest of these, both finite.

    What has another shape, or lacks other numbers, is infinitely far.
    """
    old, new = (np.array([] if numbers is None else numbers, float) for numbers in (before, after))
    size = float(np.abs(old[np.isfinite(old)]).max(initial=0))
    if (
        (before is None) != (after is None)
        or old.shape != new.shape
        or (np.isnan(old) != np.isnan(new)).any()
    ):
        return np.inf, size
    other = (old != new) & ~np.isnan(old)
    return float(np.abs(old[other] - new[other]).max(initial=0)), size


def moved(before: Iterable, after: Iterable) -> str:
    """Say how far what of which claim, value or figure has moved; nothing if none has."""
    texts = []
    for group, old, far in changed(before, after):
        own = [name for name in far if not name.startswith(("control", "impostor"))]
        typed = all(x == round(x) for name in MISSED for x in old.get(name, ()))
        # A control that moves alone counts too: it shows something else than it says.
        if not own or any(typed or name != "measured" for name in own):
            texts += [f"{name}{group} {far[name]}" for name in own or far]
    return listed(texts)


def misread(before: Iterable, after: Iterable) -> str:
    """Say how far what was measured for which claim has moved, where what it should be stayed as it was."""
    texts = []
    for group, _, far in changed(before, after):
        if "measured" in far and not set(far) & set(MISSED):
            texts.append(f"measured{group} {far['measured']}")
    return listed(texts)


def changed(before: Iterable, after: Iterable) -> Iterator[tuple[str, dict, dict[str, str]]]:
    """The claims, values and figures of which something has moved: what was there, and what moved how far."""
    before, after = [*before], [*after]
    if [group for group, _ in before] != [group for group, _ in after]:
        yield "", {}, {"the claims, values and figures": "are others"}
        return
    for (group, old), (_, new) in zip(before, after, strict=True):
        apart = {name: distance(old.get(name), new.get(name)) for name in {**old, **new}}
        far = {name: how(*by) for name, by in apart.items() if by[0] > ROUNDING * (by[1] or 1.0)}
        if far:
            yield group, old, far


def how(by: float, size: float) -> str:
    """Say a distance beside a size."""
    return f"by {by:.2g} of {size:.2g}" if by < np.inf else "in another shape"


def listed(texts: Sequence[str]) -> str:
    """Return the first few texts, and how many more there are."""
    more = [f"and {len(texts) - MOVES} more"] if len(texts) > MOVES else []
    return "; ".join([*texts[:MOVES], *more])
