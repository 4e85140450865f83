"""Ratings of contestants, with the proposer's advantage and errors that know that debates on one motion are alike.

Model: logit P(the proposer's point) = θ_i - θ_j + β, Σ θ = 0. Each debate counts once, with y = the mean of its
judgments (1, ½, 0 for the proposer), so y may be a fraction: the likelihood is a quasi-likelihood, which needs only the
mean to be right (Papke and Wooldridge, Journal of Applied Econometrics 11, 1996). Fitted by Newton's method. The model
of contestants is Bradley and Terry's (Biometrika 39, 1952), the term for a side Davidson and Beaver's (Biometrics 33,
1977).

At equal length: λ · x is added, with x the log of the proposer's words over the opponent's, and λ estimated together
with the strengths. θ is then the strength of a contestant that writes as much as the other side (Dubois et al.,
Length-Controlled AlpacaEval, 2024).

Covariance: C/(C - 1) · A⁻¹ (Σ_c u_c u_cᵀ) A⁻¹, with A the information and u_c the score of motion c: the sandwich of
Liang and Zeger (Biometrika 73, 1986), clustered by motion, with Student's t of C - 1 degrees of freedom.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from app.statistics import clusters, graph, student
from app.statistics.arrays import Codes, Floats, grouped, totals

ELO = 400 / np.log(10)
"""Points of the Elo scale in one unit of θ: 400 points are ten to one."""
_SEPARATED = 15.0
"""A fitted log odds beyond this is on its way to infinity: no finite rating explains wins without a loss."""
_STEPS = 100
_LARGEST_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Debates:
    """Judged debates of two contestants: numbers of contestants and motions, and y, the proposer's share of the
    points."""

    proposer: Codes
    opponent: Codes
    motion: Codes
    y: Floats
    control: Floats | None = None
    """x, where strengths are compared at an equal x."""


class Disconnected(Exception):
    """Some contestants never met the others, not even over third ones."""

    def __init__(self, groups: list[list[int]]) -> None:
        self.groups = groups
        super().__init__(f"{len(groups)} groups of contestants never met")


class Confounded(Exception):
    """The control follows from who met whom, or explains every result."""


@dataclass(frozen=True, slots=True)
class Fit:
    theta: Floats
    beta: float | None
    """None where contestants and sides are confounded: no contestant changed sides."""
    covariance: Floats | None
    """Of θ, β and, with a control, λ; None with fewer than two motions."""
    motions: int
    penalised: frozenset[int]
    """Contestants who have no finite rating without the prior."""
    prior_used: bool


def fit(debates: Debates, size: int) -> Fit:
    """Ratings of contestants 0 … size - 1."""
    groups = graph.connected_groups(_points(debates, size, of_meetings=True))
    if len(groups) > 1:
        raise Disconnected(groups)
    x = np.zeros(len(debates.y)) if debates.control is None else debates.control
    cell, first = grouped(debates.proposer, debates.opponent, np.unique(x, return_inverse=True)[1])
    design, free = _design(debates.proposer[first], debates.opponent[first], size), _free_parameters(size)
    side_known = bool(np.linalg.matrix_rank(design @ free) == size)
    if not side_known:
        free = free[:, :-1]
    if debates.control is not None:
        design, free = _with_control(design, x[first]), _with_control(free)
        if np.linalg.matrix_rank(design @ free) < free.shape[1]:
            raise Confounded
    design = design @ free
    counts = np.bincount(cell).astype(np.float64)
    points = totals(debates.y, cell, len(first))
    strong = graph.strong_groups(_points(debates, size))
    found = _newton(design, counts, points) if len(strong) == 1 else None
    prior_used = found is None
    if found is None:
        if len(strong) == 1 and debates.control is not None:
            raise Confounded
        rows = np.vstack([design, free])
        pseudo = np.ones(len(free))  # one debate of each parameter against an average contestant, tied
        found = _newton(rows, np.concatenate([counts, pseudo]), np.concatenate([points, pseudo / 2]))
        if found is None:
            raise ArithmeticError("the penalised fit did not converge")
    parameters, information = found
    covariance, motions = _sandwich(debates, cell, design, parameters, information)
    full = free @ parameters
    return Fit(
        full[:size],
        float(full[size]) if side_known else None,
        None if covariance is None else free @ covariance @ free.T,
        motions,
        _without_finite_rating(strong, size) if prior_used else frozenset(),
        prior_used,
    )


def _with_control(matrix: Floats, x: Floats | None = None) -> Floats:
    """A design with the column x, or a basis with a free parameter more."""
    if x is not None:
        return np.column_stack([matrix, x])
    rows, columns = matrix.shape
    found = np.zeros((rows + 1, columns + 1))
    found[:rows, :columns], found[rows, columns] = matrix, 1
    return found


def _points(debates: Debates, size: int, *, of_meetings: bool = False) -> Floats:
    """What each contestant took from each other one; or how often they met."""
    table = np.zeros((size, size))
    ones = np.ones(len(debates.y))
    np.add.at(table, (debates.proposer, debates.opponent), ones if of_meetings else debates.y)
    np.add.at(table, (debates.opponent, debates.proposer), ones if of_meetings else 1 - debates.y)
    return table


def _design(proposer: Codes, opponent: Codes, size: int) -> Floats:
    """One row for each ordered pair: +1 for the proposer, -1 for the opponent, 1 for the side."""
    design = np.zeros((len(proposer), size + 1))
    rows = np.arange(len(proposer))
    design[rows, proposer] += 1
    design[rows, opponent] -= 1
    design[:, size] = 1
    return design


def _free_parameters(size: int) -> Floats:
    """An orthonormal basis of the parameters with Σ θ = 0 (Helmert's), and β separately: (size + 1) rows, size
    columns."""
    basis = np.zeros((size + 1, size))
    for column in range(size - 1):
        basis[: column + 1, column] = 1
        basis[column + 1, column] = -(column + 1)
        basis[:, column] /= np.linalg.norm(basis[:, column])
    basis[size, size - 1] = 1
    return basis


def _newton(design: Floats, counts: Floats, points: Floats) -> tuple[Floats, Floats] | None:
    """The parameters of the largest likelihood and the information there; None where the likelihood has no largest
    value."""
    parameters = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = _expit(design @ parameters)
        score = design.T @ (points - counts * p)
        information = (design * (counts * p * (1 - p))[:, None]).T @ design
        try:
            step: Floats = np.linalg.solve(information, score).astype(np.float64)
        except np.linalg.LinAlgError:
            return None
        parameters = parameters + _shortened(step, parameters, design, counts, points)
        if np.abs(design @ parameters).max(initial=0.0) > _SEPARATED:
            return None
        if np.abs(step).max(initial=0.0) < 1e-11:
            return parameters, information
    return None


def _shortened(step: Floats, parameters: Floats, design: Floats, counts: Floats, points: Floats) -> Floats:
    """Half the step, and half again, until the likelihood no longer falls."""

    def likelihood(at: Floats) -> float:
        eta = design @ at
        return float(points @ eta - counts @ np.logaddexp(0.0, eta))

    before = likelihood(parameters)
    for _ in range(_LARGEST_HALVINGS):
        if likelihood(parameters + step) >= before - 1e-9 * (1 + abs(before)):
            break
        step = step / 2
    return step


def _sandwich(
    debates: Debates, cell: Codes, design: Floats, parameters: Floats, information: Floats
) -> tuple[Floats | None, int]:
    """The covariance of the free parameters, and the number of motions."""
    motion, first = grouped(debates.motion)
    count = len(first)
    if count < 2:
        return None, count
    residual = debates.y - _expit(design @ parameters)[cell]
    columns = [totals(residual * design[cell, k], motion, count) for k in range(design.shape[1])]
    scores = np.stack(columns, axis=1) if columns else np.zeros((count, 0))
    bread = np.linalg.inv(information)
    return count / (count - 1) * (bread @ (scores.T @ scores) @ bread), count


def _without_finite_rating(strong: list[list[int]], size: int) -> frozenset[int]:
    """Everybody outside the one largest group whose members took points from each other; everybody, if there is
    none."""
    if len(strong) == 1 or (len(strong) > 1 and len(strong[0]) == len(strong[1])):
        return frozenset(range(size))
    return frozenset(member for group in strong[1:] for member in group)


def _expit(x: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


@dataclass(frozen=True, slots=True)
class Rating:
    """On the Elo scale, with 0 as the average contestant."""

    rating: float
    low: float | None
    high: float | None
    win_rate: float
    """Against an average contestant, where sides give no advantage: 1 / (1 + exp(-θ))."""
    rank_low: int
    rank_high: int
    penalised: bool


def rated(found: Fit, debates: Debates) -> list[Rating]:
    """The rating of each contestant with its interval, and the ranks that the intervals allow: none is ranked behind a
    contestant whose whole interval lies lower."""
    size = len(found.theta)
    bounds = [_bounds(found, debates, contestant) for contestant in range(size)]
    lows = np.array([-np.inf if low is None else low for low, _ in bounds])
    highs = np.array([np.inf if high is None else high for _, high in bounds])
    return [
        Rating(
            rating=ELO * float(found.theta[i]),
            low=None if bounds[i][0] is None else ELO * float(lows[i]),
            high=None if bounds[i][1] is None else ELO * float(highs[i]),
            win_rate=float(_expit(found.theta[i : i + 1])[0]),
            rank_low=1 + int((lows > highs[i]).sum()),
            rank_high=size - int((highs < lows[i]).sum()),
            penalised=i in found.penalised,
        )
        for i in range(size)
    ]


def _bounds(found: Fit, debates: Debates, contestant: int) -> tuple[float | None, float | None]:
    """The interval of θ, or what there is of it."""
    if contestant in found.penalised:
        return _one_sided(found, debates, contestant)
    if found.covariance is None:
        return None, None
    error = sqrt(max(0.0, float(found.covariance[contestant, contestant])))
    if error < 1e-9:
        return None, None
    reach = student.quantile(clusters.UPPER, found.motions - 1) * error
    theta = float(found.theta[contestant])
    return theta - reach, theta + reach


def _one_sided(found: Fit, debates: Debates, contestant: int) -> tuple[float | None, float | None]:
    """Who won everything has a lower bound alone, who lost everything an upper one: the share of wins that so many
    motions without another result allow (clusters.only_wins), against the opposition that was met."""
    proposes, opposes = debates.proposer == contestant, debates.opponent == contestant
    own = np.concatenate([debates.y[proposes], 1 - debates.y[opposes]])
    motions = len(np.unique(debates.motion[proposes | opposes]))
    met = np.concatenate([debates.opponent[proposes], debates.proposer[opposes]])
    if motions < 2 or not (np.all(own == 1) or np.all(own == 0)):
        return None, None
    smallest = clusters.only_wins(motions)
    reach = float(np.log(smallest / (1 - smallest)))
    opposition, theta = float(found.theta[met].mean()), float(found.theta[contestant])
    return (min(theta, opposition + reach), None) if own[0] == 1 else (None, max(theta, opposition - reach))


def side(found: Fit) -> clusters.Estimate:
    """β as points of win rate: how much above one half the proposer's win rate is between equals, 1/(1 + exp(-β)) - ½.
    The interval is that of β, put through the same function."""
    if found.beta is None:
        why = "Nobody changed sides, so the proposer's advantage cannot be told from the contestants' strength."
        return clusters.Estimate(None, motions=found.motions, why=why)
    beta = clusters.Estimate(found.beta, motions=found.motions)
    if found.covariance is not None:
        place = len(found.theta)
        beta = _estimate(found.beta, sqrt(max(0.0, float(found.covariance[place, place]))), found.motions)
    if beta.low is None or beta.high is None:
        why = beta.why or "There is only one motion, so there is no interval."
        return clusters.Estimate(float(_expit(np.array(found.beta))) - 0.5, motions=found.motions, why=why)
    value, low, high = (float(each) - 0.5 for each in _expit(np.array([found.beta, beta.low, beta.high])))
    return clusters.Estimate(value, low, high, motions=found.motions, t=beta.t, p=beta.p)


def _estimate(value: float, error: float, motions: int) -> clusters.Estimate:
    if error < 1e-9:
        why = "Every motion gave the same result, so there is no interval."
        return clusters.Estimate(value, motions=motions, why=why)
    return clusters.estimated(value, error, motions)
