"""Deals whole groups out to folds so that every class falls evenly.

Shuffling groups until a split looks fair often never succeeds (some classes lie in
few groups); here the fairest allocation is computed. Groups that share no class do
not influence each other, so each connected part of the problem is solved on its own.
A part is first searched by moving and swapping groups; if the result is not at the
bound that whole clips allow and the part is small, integer programming finds and
proves the optimum.

*Conventions*: ``counts`` has shape (groups, classes). The deviation of an allocation
is the sum over classes and folds of the difference between the clips a fold holds
and an equal share of its class. Nothing is cut off by a clock: the same input gives
the same folds on any day.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import coo_array, csr_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from snellen.errors import BadInput, Fault

__all__ = ["Allocation", "Infeasible", "allocate_folds", "deviation", "require_enough_groups"]

PROVABLE = 5_000
"""Parts with more groups x folds x classes than this are searched, not proved."""
NODE_LIMIT = 2_000
"""Branches the solver may open for one part."""
DESCENTS = 4
"""Searches of one part, which differ in the group that is moved first."""


class Infeasible(BadInput):
    """No allocation of whole groups keeps what was asked; names the classes and why."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The fold of each group, how uneven it is, and how far that may be above the optimum.

    ``excess`` is 0 where the optimum was proved; otherwise a perfect search could
    save at most this much of the deviation.
    """

    fold: np.ndarray
    deviation: float
    excess: float


def allocate_folds(
    counts: np.ndarray,
    folds: int,
    *,
    minimum: np.ndarray,
    names: Sequence[str],
    rng: np.random.Generator,
) -> Allocation:
    """The fairest allocation of whole groups to folds of equal share.

    Args:
        counts: clips of each group and class, (groups, classes).
        folds: how many folds, at least 2.
        minimum: clips every fold must hold of each class, (classes,).
        names: class names, for the message of an infeasible request.
        rng: decides between equally fair allocations.

    Raises:
        Infeasible: a class cannot have its minimum in every fold.
    """
    require_enough_groups(counts, folds, minimum=minimum, names=names)
    fold = np.zeros(len(counts), dtype=np.int64)
    totals = np.zeros(folds, dtype=np.int64)
    excess = 0.0
    for groups, classes in _parts(counts):
        local = rng.permutation(groups)
        block = counts[np.ix_(local, classes)]
        part, gap = _solve(block, folds, minimum[classes], [names[c] for c in classes])
        excess += gap
        # Folds are alike: a part's largest fold goes to the fold that is smallest so far.
        sizes = np.bincount(part, weights=block.sum(axis=1), minlength=folds).astype(np.int64)
        target = np.empty(folds, dtype=np.int64)
        target[np.argsort(-sizes, kind="stable")] = _smallest_first(totals, rng)
        fold[local] = target[part]
        totals[target] += sizes
    return Allocation(fold, deviation(counts, fold, folds), excess)


def deviation(counts: np.ndarray, fold: np.ndarray, folds: int) -> float:
    """How uneven an allocation is: 0 if every fold holds its exact share of every class.

    >>> deviation(np.array([[2], [1], [1]]), np.array([0, 1, 1]), 2)
    0.0
    """
    held = np.stack([counts[fold == k].sum(axis=0) for k in range(folds)])
    return float(np.abs(held - counts.sum(axis=0) / folds).sum())


def require_enough_groups(
    counts: np.ndarray, folds: int, *, minimum: np.ndarray, names: Sequence[str]
) -> None:
    """Refuse what counting alone shows to be impossible, naming every such class.

    Raises:
        Infeasible: a class lies in fewer groups than folds or has too few clips.
    """
    faults = []
    for name, column, least in zip(names, counts.T, minimum.tolist(), strict=True):
        groups, clips = int((column > 0).sum()), int(column.sum())
        if least > 0 and groups < folds:
            faults.append(
                Fault("split", f"{groups} groups", f"at least {folds}, one a fold", field=name)
            )
        elif clips < least * folds:
            allowed = f"at least {least * folds}, {least} a fold"
            faults.append(Fault("split", f"{clips} clips", allowed, field=name))
    if faults:
        raise Infeasible(faults)


def _parts(counts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """(groups, classes) of each part of the problem that shares no class with another."""
    groups, classes = counts.shape
    row, column = np.nonzero(counts)
    edges = (np.ones(len(row)), (row, column + groups))
    graph = coo_array(edges, shape=(groups + classes, groups + classes))
    count, part = connected_components(graph, directed=False)
    found = [
        (np.flatnonzero(part[:groups] == k), np.flatnonzero(part[groups:] == k))
        for k in range(count)
    ]
    return [(rows, columns) for rows, columns in found if len(rows) > 0]


def _smallest_first(totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shuffled = rng.permutation(len(totals))
    return np.asarray(shuffled[np.argsort(totals[shuffled], kind="stable")])


def _solve(
    counts: np.ndarray, folds: int, minimum: np.ndarray, names: Sequence[str]
) -> tuple[np.ndarray, float]:
    """Fold of each group in one part, and what is left unproved of the deviation."""
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    counts = counts[order]
    fold = _search(counts, folds, minimum)
    rest = counts.sum(axis=0) % folds
    bound = float((2 * rest * (folds - rest)).sum()) / folds
    if counts.size * folds <= PROVABLE and (
        _short(counts, fold, folds, minimum) or deviation(counts, fold, folds) > bound + 1e-9
    ):
        result = _program(counts, folds, minimum)
        if result.status == 2:
            raise Infeasible(_why(counts, folds, minimum, names))
        if result.x is not None:
            fold = result.x[: counts.shape[0] * folds].reshape(-1, folds).argmax(axis=1)
            bound = max(bound, float(result.mip_dual_bound) / folds)
    if _short(counts, fold, folds, minimum):
        seen = "no allocation was found that holds the minimum of every class"
        allowed = "fewer folds, or a lower minimum"
        raise Infeasible(Fault("split", seen, allowed, field=", ".join(names)))
    excess = deviation(counts, fold, folds) - bound
    back = np.empty_like(fold)
    back[order] = fold
    return back, excess if excess > 1e-6 else 0.0


def _short(counts: np.ndarray, fold: np.ndarray, folds: int, minimum: np.ndarray) -> bool:
    return any((counts[fold == k].sum(axis=0) < minimum).any() for k in range(folds))


def _search(counts: np.ndarray, folds: int, minimum: np.ndarray) -> np.ndarray:
    """Largest group first to where it fits best, then the best of a few descents from there."""
    total = counts.sum(axis=0)
    ban = folds * int(total.sum()) + 1  # one missing clip outweighs any unevenness

    def cost(held: np.ndarray) -> np.ndarray:
        uneven = np.abs(folds * held - total)
        return np.asarray((uneven + ban * np.maximum(minimum - held, 0)).sum(axis=-1))

    held = np.zeros((folds, counts.shape[1]), dtype=np.int64)
    fold = np.empty(len(counts), dtype=np.int64)
    for group, row in enumerate(counts):
        fold[group] = np.argmin(cost(held + row) - cost(held))
        held[fold[group]] += row
    size = len(counts)
    turns = [np.roll(np.arange(size), k * size // DESCENTS) for k in range(DESCENTS)]
    found = [_descent(counts, fold, held.copy(), turn, cost) for turn in turns]
    return min(found, key=lambda descent: descent[0])[1]


def _descent(
    counts: np.ndarray,
    fold: np.ndarray,
    held: np.ndarray,
    turn: np.ndarray,
    cost: Callable[[np.ndarray], np.ndarray],
) -> tuple[int, np.ndarray]:
    """Each group in turn is moved or swapped as is best for it, while that helps any.

    ``held``, what the folds hold, is changed in place; returns the cost and the folds.
    """
    # Swapping with one of these empty partners, one a fold, is a plain move.
    partners = np.concatenate([counts, np.zeros_like(held)])
    at = np.concatenate([fold, np.arange(len(held))])
    groups, settled = itertools.cycle(turn.tolist()), 0
    while settled < len(counts):
        group = next(groups)
        row, here = counts[group], at[group]
        before = cost(held)
        change = cost(held[here] - row + partners) + cost(held[at] - partners + row)
        change = np.where(at == here, 0, change - before[here] - before[at])
        best = int(change.argmin())
        settled += 1
        if change[best] < 0:
            settled = 0
            held[here] += partners[best] - row
            held[at[best]] += row - partners[best]
            at[group] = at[best]
            if best < len(counts):
                at[best] = here
    return int(cost(held).sum()), at[: len(counts)]


def _program(counts: np.ndarray, folds: int, minimum: np.ndarray) -> OptimizeResult:
    """The same as an integer program, in whole numbers (all multiplied by ``folds``).

    Variables: x[group, fold] in {0, 1}, then slack[class, fold] >= the unevenness.
    """
    groups, classes = counts.shape
    placed, slack = groups * folds, classes * folds
    once = csr_array(np.kron(np.eye(groups), np.ones(folds)))
    held = csr_array(np.kron(counts.T, np.eye(folds)))
    eye = csr_array(np.eye(slack))
    matrix = vstack(
        [
            hstack([once, csr_array((groups, slack))]),
            hstack([folds * held, -eye]),
            hstack([folds * held, eye]),
            hstack([held, csr_array((slack, slack))]),
        ]
    )
    total = np.repeat(counts.sum(axis=0), folds).astype(float)
    unbounded = np.full(slack, np.inf)
    low = np.concatenate([np.ones(groups), -unbounded, total, np.repeat(minimum, folds)])
    high = np.concatenate([np.ones(groups), total, unbounded, unbounded])
    # Folds are alike, so the k-th group may be confined to the first k: fewer mirror images.
    allowed = np.tri(groups, folds).ravel()
    return milp(
        np.concatenate([np.zeros(placed), np.ones(slack)]),
        integrality=np.concatenate([np.ones(placed), np.zeros(slack)]),
        bounds=Bounds(0, np.concatenate([allowed, unbounded])),
        constraints=LinearConstraint(matrix, low, high),
        options={"node_limit": NODE_LIMIT},
    )


def _why(counts: np.ndarray, folds: int, minimum: np.ndarray, names: Sequence[str]) -> list[Fault]:
    """The classes to blame: those that fail on their own, else all that hang together."""
    if len(names) == 1:
        sizes = counts[counts[:, 0] > 0, 0].tolist()
        allowed = f"groups that give each of {folds} folds {minimum[0]} clips"
        return [Fault("split", f"groups of {sizes} clips", allowed, field=names[0])]
    alone: list[Fault] = []
    for k, name in enumerate(names):
        try:
            _solve(counts[counts[:, k] > 0][:, [k]], folds, minimum[[k]], [name])
        except Infeasible as error:
            alone += error.faults
    if alone:
        return alone
    seen = "whole groups hold these classes together"
    allowed = f"a way to give each of {folds} folds the minimum of every class"
    return [Fault("split", seen, allowed, field=", ".join(names))]
