"""What an experiment will cost and how long it takes: as expected from what this server has seen of each model, and at
most, from the largest calls and their prices."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from app.core.debate import Usage
from app.core.experiments.estimate import CallsToCome, CostEstimate, cost_interval
from app.core.experiments.extension import judges_of, setup_of
from app.core.experiments.plan import Pairing
from app.core.experiments.spec import Arm
from app.core.formats import JudgeActs
from app.core.model_calls import BYTES_PER_SPOKEN_TOKEN, answer_tokens
from app.core.players import SCRIPTED, SeatSetup
from app.core.seats import Seat
from app.models.table import cost_usd
from app.store.experiments.reading import SeenCalls
from app.usecases.create import most_cost_of_a_turn
from app.usecases.experiments.held import HeldExperiment

USUAL_TOKENS = (2_000, 400)
"""In and out, of a call to a model that this server has not seen yet."""
USUAL_SECONDS = 10.0
_SCRIPTED_SECONDS = 0.02
_LONGEST_MOTION_BYTES = 10_240


def estimate_of(
    experiment: HeldExperiment,
    matches: Mapping[Pairing, int],
    open_judgments: Mapping[str, int],
    seen: Mapping[str, SeenCalls],
    seen_judgments: Mapping[str, SeenCalls] = MappingProxyType({}),
) -> CostEstimate:
    """Of what is left to do: these matches with their judgments, and by judge the judgments of debates that were
    held."""
    calls = _calls(experiment, matches)
    count = sum(matches.values())
    judges = {judge.name: judge for judge in judges_of(experiment.spec)}
    judged: Counter[SeatSetup] = Counter()
    # Counted once for all judges: thousands of pairings times a hundred judges would take seconds.
    in_two_orders = sum(number for pairing, number in matches.items() if pairing.has_two_orders)
    for judge in judges.values():
        judged[judge.setup] += in_two_orders * len(judge.keys(has_two_orders=True))
        judged[judge.setup] += (count - in_two_orders) * len(judge.keys(has_two_orders=False))
    for name, waiting in open_judgments.items():
        # Of a judge that somebody asked by hand, no more is known here than its name.
        judged[judges[name].setup if name in judges else experiment.arbitrator] += waiting
    kinds = [(setup, number, seen) for setup, number in calls.items()]
    kinds += [(setup, number, {**seen, **seen_judgments}) for setup, number in judged.items()]
    at_most = _at_most(calls + judged, max((arm.rounds or 1 for arm in experiment.spec.arms), default=1))
    seconds = sum(number * _seconds(setup, known) for setup, number, known in kinds) / max(
        1, experiment.spec.concurrency
    )
    return CostEstimate(
        matches=count,
        debate_calls=calls.total(),
        judgments=judged.total(),
        expected_usd=_sum(_times(number, _expected(setup, known)) for setup, number, known in kinds),
        at_most_usd=at_most,
        expected_tokens=round(sum(number * sum(_tokens(setup, known)) for setup, number, known in kinds)),
        seconds=seconds,
        interval_usd=_interval(kinds),
    )


def _interval(kinds: Sequence[tuple[SeatSetup, int, Mapping[str, SeenCalls]]]) -> tuple[float, float] | None:
    found = []
    for setup, number, seen in kinds:
        known = seen.get(setup.player)
        if known is not None:
            found.append(CallsToCome(number, known.cost_usd, known.deviation_usd, known.calls))
        elif _expected(setup, seen) != 0:
            return None
    return cost_interval(found)


def _times(number: int, each: float | None) -> float | None:
    return None if each is None else number * each


def _calls(experiment: HeldExperiment, matches: Mapping[Pairing, int]) -> Counter[SeatSetup]:
    arms = {arm.name: arm for arm in experiment.spec.arms}
    speaking: Counter[str | None] = Counter()
    held: Counter[str] = Counter()
    for pairing, count in matches.items():
        held[pairing.arm] += count
        for name in (pairing.proposer, pairing.opponent):
            speaking[name] += count * (arms[pairing.arm].rounds or 1)
    calls: Counter[SeatSetup] = Counter()
    for one in experiment.spec.contestants:
        calls[setup_of(one)] += speaking[one.name]
    calls[experiment.arbitrator] += sum(count * _turns_of_the_judge(arms[name]) for name, count in held.items())
    return +calls


def _turns_of_the_judge(arm: Arm) -> int:
    once = arm.format.facts.judge is JudgeActs.AT_THE_END or not arm.rounds
    return 1 if once else arm.rounds or 1


def _tokens(setup: SeatSetup, seen: Mapping[str, SeenCalls]) -> tuple[float, float]:
    if setup.player == SCRIPTED:
        return 0.0, 0.0
    known = seen.get(setup.player)
    return (known.input_tokens, known.output_tokens) if known else USUAL_TOKENS


def _expected(setup: SeatSetup, seen: Mapping[str, SeenCalls]) -> float | None:
    known = seen.get(setup.player)
    if known:
        return known.cost_usd
    tokens_in, tokens_out = _tokens(setup, seen)
    return cost_usd(setup.player, Usage(round(tokens_in), round(tokens_out)))


def _at_most(calls: Mapping[SeatSetup, int], rounds: int) -> float | None:
    """No call is shown more than a whole debate: the motion, and what everybody may say in every round."""
    longest = max((answer_tokens(setup) for setup in calls), default=0) * BYTES_PER_SPOKEN_TOKEN
    transcript = _LONGEST_MOTION_BYTES + len(Seat) * rounds * longest
    costs = {setup: most_cost_of_a_turn(setup, None, transcript) for setup in calls}
    return _sum(_times(number, costs[setup]) for setup, number in calls.items())


def _sum(amounts: Iterable[float | None]) -> float | None:
    total = 0.0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _seconds(setup: SeatSetup, seen: Mapping[str, SeenCalls]) -> float:
    if setup.player == SCRIPTED:
        return _SCRIPTED_SECONDS + (setup.think_seconds or 0.0)
    known = seen.get(setup.player)
    return known.seconds if known and known.seconds else USUAL_SECONDS


def largest_call(experiment: HeldExperiment) -> float:
    """The most that any single call of its debates and judgments costs."""
    spec = experiment.spec
    setups = {experiment.arbitrator, *map(setup_of, spec.contestants), *(judge.setup for judge in judges_of(spec))}
    longest = max(setups, key=answer_tokens)
    rounds = max((arm.rounds or 1 for arm in spec.arms), default=1)
    return max(_at_most({longest: 0, setup: 1}, rounds) or 0.0 for setup in setups)
