"""What an experiment will cost and take: expected, from prompts and calls seen so far; and at most, from prices."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.core.debate import Usage
from app.core.experiments.estimate import CallsToCome, CostEstimate, cost_interval
from app.core.experiments.extension import judges_of, setup_of
from app.core.experiments.plan import MotionCount, Pairing, pairings
from app.core.experiments.seen import Seen, SeenCalls
from app.core.experiments.sent import DebateCalls, MotionSizes, SentCall, calls_of_debate
from app.core.experiments.spec import Arm
from app.core.model_calls import BYTES_PER_SPOKEN_TOKEN, answer_tokens
from app.core.players import SCRIPTED, SeatSetup
from app.core.schedules import StepKind
from app.core.seats import Seat
from app.models.table import cost_usd, shown_tokens
from app.usecases.create import most_cost_of_a_turn
from app.usecases.experiments.match_debates import PlannedExperiment

USUAL_OUTPUT_TOKENS = 400
"""Of a call to a model that this server has not seen yet."""
USUAL_SECONDS = 10.0
INSTRUCTIONS = {StepKind.SPEECH: 1_400, StepKind.QUESTION: 1_600, StepKind.RULING: 3_000}
"""Bytes of the built-in prompts, with what a provider adds for an answer's shape."""
_SCRIPTED_SECONDS = 0.02
_LONGEST_MOTION_BYTES = 10_240
_NOTHING_SEEN: Seen = MappingProxyType({})


@dataclass
class _Calls:
    count: int = 0
    shown_bytes: float = 0.0


def estimate_of(
    experiment: PlannedExperiment,
    matches: Mapping[Pairing, int],
    open_judgments: Mapping[str, int],
    seen: Seen = _NOTHING_SEEN,
    sizes: MotionSizes = MotionSizes(),  # noqa: B008 (it is frozen)
    spent_usd: float = 0.0,
) -> CostEstimate:
    """Of these matches with their judgments, and of open judgments by judge. `spent_usd` is the matches' cost so
    far."""
    load = _Load(experiment, seen, sizes)
    load.add_matches(matches)
    load.add_open_judgments(open_judgments)
    priced = [_Priced(setup, kind, calls, seen) for (setup, kind), calls in load.calls.items()]
    whole = _sum(each.cost_usd for each in priced)
    interval = _interval(priced)
    rounds = max((arm.rounds or 1 for arm in experiment.spec.arms), default=1)
    return CostEstimate(
        matches=sum(matches.values()),
        debate_calls=load.debate_calls,
        judgments=load.judgments,
        expected_usd=None if whole is None else max(0.0, whole - spent_usd),
        at_most_usd=_at_most(load.by_setup(), rounds, sizes),
        expected_tokens=round(sum(each.calls.count * sum(each.tokens) for each in priced)),
        seconds=sum(each.seconds for each in priced) / max(1, experiment.spec.concurrency),
        interval_usd=interval and (max(0.0, interval[0] - spent_usd), max(0.0, interval[1] - spent_usd)),
    )


class _Load:
    def __init__(self, experiment: PlannedExperiment, seen: Seen, sizes: MotionSizes) -> None:
        self._experiment, self._seen, self._sizes = experiment, seen, sizes
        self._arms = {arm.name: arm for arm in experiment.spec.arms}
        self._setups = {one.name: setup_of(one) for one in experiment.spec.contestants}
        self._judges = {judge.name: judge for judge in judges_of(experiment.spec)}
        self.calls: dict[tuple[SeatSetup, StepKind], _Calls] = {}
        self.debate_calls = self.judgments = 0

    def add_matches(self, matches: Mapping[Pairing, int]) -> None:
        judged: Counter[tuple[bool, float, tuple[float, ...]]] = Counter()
        for pairing, count in matches.items():
            debate = self._debate(pairing)
            for call in debate.calls:
                self._add(call, count)
            self.debate_calls += count * len(debate.calls)
            judged[pairing.has_two_orders, debate.judged_bytes, debate.begun_bytes] += count
        # Once for all pairings of a kind: thousands of pairings times a hundred judges would take seconds.
        for judge in self._judges.values():
            keys = {has_two_orders: len(judge.keys(has_two_orders)) for has_two_orders in (True, False)}
            for (has_two_orders, whole, begun), count in judged.items():
                asked = count * keys[has_two_orders]
                for shown in (*begun, whole) if judge.beliefs else (whole,):
                    self._add(SentCall(judge.setup, StepKind.RULING, shown), asked)
                    self.judgments += asked

    def add_open_judgments(self, by_judge: Mapping[str, int]) -> None:
        self.judgments += sum(by_judge.values())
        shown = self._mean_judged_bytes() if by_judge else 0.0
        for name, count in by_judge.items():
            # Of a judge outside the spec only the name is known here.
            setup = self._judges[name].setup if name in self._judges else self._experiment.arbitrator
            self._add(SentCall(setup, StepKind.RULING, shown), count)

    def by_setup(self) -> Counter[SeatSetup]:
        counts: Counter[SeatSetup] = Counter()
        for (setup, _), calls in self.calls.items():
            counts[setup] += calls.count
        return counts

    def _add(self, call: SentCall, count: int) -> None:
        calls = self.calls.setdefault((call.setup, call.kind), _Calls())
        calls.count += count
        calls.shown_bytes += count * call.shown_bytes

    def _mean_judged_bytes(self) -> float:
        planned = pairings(self._experiment.spec, MotionCount(1, 1))
        shown = sum(count * self._debate(pairing).judged_bytes for pairing, count in planned.items())
        return shown / max(1, planned.total())

    def _debate(self, pairing: Pairing) -> DebateCalls:
        seats = {Seat.ARBITRATOR: self._experiment.arbitrator}
        for seat, name in ((Seat.PROPOSER, pairing.proposer), (Seat.OPPONENT, pairing.opponent)):
            if name is not None:
                seats[seat] = self._setups[name]
        arm: Arm = self._arms[pairing.arm]
        return calls_of_debate(arm, seats, self._sizes, self._said_bytes)

    def _said_bytes(self, setup: SeatSetup, kind: StepKind) -> float:
        known = self._seen.get((setup.player, kind))
        return known.said_bytes if known and known.said_bytes else USUAL_OUTPUT_TOKENS * BYTES_PER_SPOKEN_TOKEN


class _Priced:
    def __init__(self, setup: SeatSetup, kind: StepKind, calls: _Calls, seen: Seen) -> None:
        self.setup, self.kind, self.calls = setup, kind, calls
        self.known = seen.get((setup.player, kind))

    @property
    def tokens(self) -> tuple[float, float]:
        if self.setup.player == SCRIPTED:
            return 0.0, 0.0
        known = self.known
        instructions = known.instructions if known else None
        around = instructions or INSTRUCTIONS[self.kind] + len((self.setup.persona or "").encode())
        per_byte = (known.tokens_per_byte if known else None) or 1 / BYTES_PER_SPOKEN_TOKEN
        shown = min(self.calls.shown_bytes / max(1, self.calls.count) * per_byte, shown_tokens(self.setup, None))
        said = known.output_tokens if known else min(USUAL_OUTPUT_TOKENS, answer_tokens(self.setup))
        return around * per_byte + shown, said

    @property
    def cost_usd(self) -> float | None:
        each = self._cost_of(*self.tokens)
        return None if each is None else self.calls.count * each

    def to_come(self) -> CallsToCome | None:
        if self.known is None:
            return None
        read, said = self.tokens
        mean = self._cost_of(read, said) or 0.0
        deviation = (self._cost_of(read, said + self.known.output_deviation) or 0.0) - mean
        return CallsToCome(self.calls.count, mean, deviation, self.known.calls)

    @property
    def seconds(self) -> float:
        if self.setup.player == SCRIPTED:
            return self.calls.count * (_SCRIPTED_SECONDS + (self.setup.think_seconds or 0.0))
        return self.calls.count * (self.known.seconds if self.known and self.known.seconds else USUAL_SECONDS)

    def _cost_of(self, read: float, said: float) -> float | None:
        listed = _listed(self.setup.player, read, said)
        return listed * _discount(self.setup.player, self.known) if listed and self.known else listed


def _listed(player: str, read: float, said: float) -> float | None:
    return cost_usd(player, Usage(round(read), round(said)))


def _discount(player: str, known: SeenCalls) -> float:
    """What calls have cost compared with their listed price: input that a provider has cached is cheaper."""
    listed = _listed(player, known.input_tokens, known.output_tokens)
    return min(1.0, known.cost_usd / listed) if listed and known.cost_usd else 1.0


def _interval(priced: Iterable[_Priced]) -> tuple[float, float] | None:
    found = []
    for each in priced:
        to_come = each.to_come()
        if to_come is not None:
            found.append(to_come)
        elif each.calls.count and each.cost_usd != 0:
            return None
    return cost_interval(found)


def _at_most(calls: Mapping[SeatSetup, int], rounds: int, sizes: MotionSizes) -> float | None:
    """No call is shown more than the motion, its document, and what all may say in every round."""
    longest = max((answer_tokens(setup) for setup in calls), default=0) * BYTES_PER_SPOKEN_TOKEN
    transcript = max(_LONGEST_MOTION_BYTES, sizes.longest) + len(Seat) * rounds * longest
    costs = {setup: most_cost_of_a_turn(setup, None, transcript) for setup in calls}
    return _sum(None if costs[setup] is None else number * (costs[setup] or 0.0) for setup, number in calls.items())


def _sum(amounts: Iterable[float | None]) -> float | None:
    total = 0.0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def largest_call(experiment: PlannedExperiment, sizes: MotionSizes) -> float:
    spec = experiment.spec
    setups = {experiment.arbitrator, *map(setup_of, spec.contestants), *(judge.setup for judge in judges_of(spec))}
    longest = max(setups, key=answer_tokens)
    rounds = max((arm.rounds or 1 for arm in spec.arms), default=1)
    return max(_at_most({longest: 0, setup: 1}, rounds, sizes) or 0.0 for setup in setups)
