"""The spec of an experiment: parsed from one document and checked. Errors name their place in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.players import EXTERNAL, LOCAL, SCRIPTED, JudgeOrder, model_of, why_unknown
from app.core.schedules import BUILT_IN, FINAL_RULING, Schedule, StepKind
from app.core.seats import Seat

KEYS = (
    "name", "motions", "contestants", "pairing", "swap_sides", "repeats", "format", "rounds", "arms", "judges",
    "budget_usd", "concurrency", "seed", "contrasts", "prompts", "language", "document_visible_to",
)  # fmt: skip
PLAYER_KEYS = ("name", "player", "persona", "temperature", "max_tokens", "thinking", "think_seconds")
CONTESTANT_KEYS = (*PLAYER_KEYS, "skill")
JUDGE_KEYS = (*PLAYER_KEYS, "orders", "repeats", "beliefs", "position_bias", "noise")
ARM_DEFAULTS = ("prompts", "language", "document_visible_to")
"""At the top of a spec with arms, these apply to each arm that does not state its own."""
ARM_KEYS = ("format", "rounds", *ARM_DEFAULTS)
ROUND_ROBIN = "round_robin"
SEATS = ("proposer", "opponent", "arbitrator")
LONGEST_NAME = 100
LONGEST_PERSONA = 1_000_000
"""The most that DEBATE_MAX_CONTENT_LENGTH allows; what it is set to is checked where it is known."""
MOST_CONTESTANTS = 200
MOST_JUDGES = 100
MOST_ARMS = 100
MOST_CONTRASTS = 1_000
DEFAULT_CONCURRENCY = 50
MOST_CONCURRENCY = 10_000
Place = tuple[str | int, ...]
"""The keys and indexes that lead to a part of the spec: `("contestants", 1, "player")`."""


class SpecProblem(Exception):
    """What is wrong with a spec or a motion, and where."""

    def __init__(self, message: str, place: Place = ()) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


@dataclass(frozen=True, slots=True)
class Participant:
    """A contestant or a judge: a named player with its options."""

    name: str
    player: str
    options: Mapping[str, Any]
    """persona, temperature, …, as a seat has them."""


@dataclass(frozen=True, slots=True)
class ExperimentJudge:
    participant: Participant
    orders: JudgeOrder
    repeats: int
    beliefs: bool


@dataclass(frozen=True, slots=True)
class Arm:
    """The same motions under these rules."""

    name: str
    schedule: Schedule
    rounds: int | None
    prompts: str | None = None
    language: str | None = None
    document_visible_to: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Spec:
    name: str
    contestants: tuple[Participant, ...]
    pairs: tuple[tuple[str, str], ...]
    """Contestants who meet, each two once; sides are swapped later."""
    swap_sides: bool
    repeats: int
    arms: tuple[Arm, ...]
    judges: tuple[ExperimentJudge, ...]
    budget_usd: float | None
    concurrency: int
    seed: int
    contrasts: tuple[tuple[str, str], ...] = ()
    """Arms that are compared, the first less the second; without any, each two are."""

    @property
    def prompt_sets(self) -> list[str]:
        """The names of the prompt sets that its debates use, each once."""
        return sorted({arm.prompts for arm in self.arms if arm.prompts is not None})

    @property
    def players(self) -> dict[Place, str]:
        """Every player, with its place in the document."""
        debaters: dict[Place, str] = {
            ("contestants", n, "player"): each.player for n, each in enumerate(self.contestants)
        }
        return debaters | {("judges", n, "player"): each.participant.player for n, each in enumerate(self.judges)}


def spec_of(given: Any, formats: Mapping[str, Schedule] = BUILT_IN) -> Spec:
    """Raises SpecProblem with the place of the first mistake. Motions are not checked, nor whether this server has
    the provider of a player: it may have another set of them by the time that a stored spec is read. What a user gives
    is read by `app.core.experiments.given`, which also refuses options that have no effect."""
    document = _mapping(given, (), "an experiment", KEYS)
    arms = _arms(document, formats)
    contestants = tuple(
        _participant(each, ("contestants", n), CONTESTANT_KEYS)
        for n, each in enumerate(_list(document, "contestants", MOST_CONTESTANTS))
    )
    _unique([each.name for each in contestants], "contestants", "contestant")
    speaking = [arm for arm in arms if arm.schedule.debaters]
    if speaking and not contestants:
        raise SpecProblem("an experiment needs contestants", ("contestants",))
    judges = tuple(_judge(each, ("judges", n)) for n, each in enumerate(_list(document, "judges", MOST_JUDGES)))
    _unique([each.participant.name for each in judges], "judges", "judge")
    two_sided = any(len(arm.schedule.debaters) == 2 for arm in arms)
    if two_sided and len(contestants) < 2:
        raise SpecProblem("a debate needs two contestants; name a second one", ("contestants",))
    return Spec(
        name=_text(document, "name", (), LONGEST_NAME),
        contestants=contestants,
        pairs=_pairs(document.get("pairing", ROUND_ROBIN), [each.name for each in contestants]) if two_sided else (),
        swap_sides=_flag(document, "swap_sides", True),
        repeats=_whole(document, "repeats", (), 1, 1, 1000),
        arms=arms,
        judges=judges,
        budget_usd=_number(document, "budget_usd", (), lambda value: value > 0, "more than 0"),
        concurrency=_whole(document, "concurrency", (), DEFAULT_CONCURRENCY, 1, MOST_CONCURRENCY),
        seed=_whole(document, "seed", (), 0, 0, 2**31 - 1),
        contrasts=_contrasts(document, [arm.name for arm in arms]),
    )


def format_names(given: Any) -> set[str]:
    """The names of formats in a spec that was not checked yet."""
    document = given if isinstance(given, Mapping) else {}
    arms = document.get("arms")
    stated = [document, *(arms.values() if isinstance(arms, Mapping) else ())]
    named = (each.get("format") for each in stated if isinstance(each, Mapping))
    return {name for name in named if isinstance(name, str)}


def _arms(document: Mapping[str, Any], formats: Mapping[str, Schedule]) -> tuple[Arm, ...]:
    if "arms" not in document:
        return (_arm("", {key: document[key] for key in ARM_KEYS if key in document}, (), formats),)
    for key in ("format", "rounds"):
        if key in document:
            raise SpecProblem(f"{key} cannot be combined with arms: each arm has its own", (key,))
    defaults = {key: document[key] for key in ARM_DEFAULTS if key in document}
    _arm("", defaults, (), formats)  # A mistake in a default is named in its own place, and not in that of an arm.
    arms = document["arms"]
    if not isinstance(arms, Mapping) or not arms:
        raise SpecProblem("arms must map names to rules, as in {debate: {format: final_ruling}}", ("arms",))
    if len(arms) > MOST_ARMS:
        raise SpecProblem(f"an experiment has at most {MOST_ARMS} arms, not {len(arms):,}", ("arms",))
    return tuple(_named_arm(str(name), rules, defaults, formats) for name, rules in arms.items())


def _named_arm(name: str, given: Any, defaults: Mapping[str, Any], formats: Mapping[str, Schedule]) -> Arm:
    place = ("arms", name)
    return _arm(name, {**defaults, **_mapping(given, place, "an arm", ARM_KEYS)}, place, formats)


def _arm(name: str, rules: Mapping[str, Any], place: Place, formats: Mapping[str, Schedule]) -> Arm:
    chosen = rules.get("format", FINAL_RULING.name)
    schedule = formats.get(chosen) if isinstance(chosen, str) else None
    if schedule is None:
        known = f"one of {', '.join(BUILT_IN)}, or a format that was added"
        raise SpecProblem(f"unknown format {chosen!r}: {known}", (*place, "format"))
    if schedule.judge_is_called:
        raise SpecProblem("a dialogue ends when its debaters agree and has no verdict of its own", (*place, "format"))
    if schedule.rounds[-1].steps[-1].kind is not StepKind.RULING:
        raise SpecProblem(f"{chosen} does not end with a ruling, so it has no verdict of its own", (*place, "format"))
    if schedule.debaters == (Seat.OPPONENT,):
        raise SpecProblem(f"in {chosen} only the opponent speaks: let the proposer speak", (*place, "format"))
    if not schedule.has_rounds and "rounds" in rules:
        raise SpecProblem(f"{chosen} has no rounds", (*place, "rounds"))
    rounds = _whole(rules, "rounds", place, schedule.default_rounds, 1, 100) if schedule.default_rounds else None
    problem = schedule.why_not_rounds(rounds)
    if problem:
        raise SpecProblem(problem, (*place, "rounds"))
    return Arm(
        name,
        schedule,
        rounds,
        _optional_text(rules, "prompts", place, LONGEST_NAME),
        _optional_text(rules, "language", place, LONGEST_NAME),
        _seats(rules.get("document_visible_to"), (*place, "document_visible_to")),
    )


def _seats(given: Any, place: Place) -> tuple[str, ...] | None:
    """Always in the same order, so that two specs are compared by what they say."""
    if given is None:
        return None
    if not isinstance(given, list) or any(seat not in SEATS for seat in given):
        raise SpecProblem(f"document_visible_to must list seats: {', '.join(SEATS)}", place)
    return tuple(seat for seat in SEATS if seat in given)


def _participant(given: Any, place: Place, keys: tuple[str, ...]) -> Participant:
    what = "a contestant" if place[0] == "contestants" else "a judge"
    options = _mapping(given, place, what, keys)
    player = _text(options, "player", place, 200)
    if player == EXTERNAL:
        raise SpecProblem(f"{what} must be a player that workers run, not 'external'", (*place, "player"))
    if player not in (SCRIPTED, LOCAL) and model_of(player) is None:
        raise SpecProblem(why_unknown(player) or "", (*place, "player"))
    name = _text({"name": player, **options}, "name", place, LONGEST_NAME)
    _optional_text(options, "persona", place, LONGEST_PERSONA)
    for key in ("temperature", "think_seconds"):
        _number(options, key, place, lambda value: value >= 0, "0 or more")
    for key in ("skill", "position_bias"):
        _number(options, key, place, lambda _: True, "")
    _number(options, "noise", place, lambda value: 0 <= value <= 1, "between 0 and 1")
    _whole(options, "max_tokens", place, 1, 1, 1_000_000)
    if options.get("thinking") not in (None, "low", "medium", "high"):
        raise SpecProblem("thinking must be low, medium or high", (*place, "thinking"))
    own = ("name", "player", "orders", "repeats", "beliefs")
    kept = {key: value for key, value in options.items() if key not in own and value is not None}
    return Participant(name, player, kept)


def _judge(given: Any, place: Place) -> ExperimentJudge:
    participant = _participant(given, place, JUDGE_KEYS)
    orders = given.get("orders", JudgeOrder.AS_SPOKEN.value)
    if orders not in list(JudgeOrder):
        raise SpecProblem(f"orders must be one of {', '.join(JudgeOrder)}", (*place, "orders"))
    repeats = _whole(given, "repeats", place, 1, 1, 100)
    return ExperimentJudge(participant, JudgeOrder(orders), repeats, _flag(given, "beliefs", False, place))


def _pairs(given: Any, names: list[str]) -> tuple[tuple[str, str], ...]:
    if given == ROUND_ROBIN:
        return tuple((first, second) for n, first in enumerate(names) for second in names[n + 1 :])
    known = dict.fromkeys(names)
    if isinstance(given, Mapping):
        base = _mapping(given, ("pairing",), "pairing", ("against",)).get("against")
        _known(base, known, ("pairing", "against"))
        return tuple((name, str(base)) for name in names if name != base)
    if not isinstance(given, list) or not given:
        raise SpecProblem("pairing must be round_robin, {against: NAME} or a list of pairs", ("pairing",))
    most = len(names) * (len(names) - 1) // 2
    if len(given) > most:
        raise SpecProblem(f"{len(names)} contestants have at most {most:,} pairs, not {len(given):,}", ("pairing",))
    found: dict[frozenset[str], tuple[str, str]] = {}
    for n, pair in enumerate(given):
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
            raise SpecProblem("a pair is two different contestants", ("pairing", n))
        for place, name in enumerate(pair):
            _known(name, known, ("pairing", n, place))
        if frozenset(pair) in found:
            raise SpecProblem(f"the pair {pair[0]}, {pair[1]} is listed twice", ("pairing", n))
        found[frozenset(pair)] = (pair[0], pair[1])
    return tuple(found.values())


def _contrasts(document: Mapping[str, Any], arms: list[str]) -> tuple[tuple[str, str], ...]:
    given = _list(document, "contrasts", MOST_CONTRASTS)
    if given and "arms" not in document:
        raise SpecProblem("contrasts needs arms: it names two of them", ("contrasts",))
    for number, pair in enumerate(given):
        place = ("contrasts", number)
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
            raise SpecProblem("a contrast is two different arms", place)
        unknown = [name for name in pair if name not in arms]
        if unknown:
            raise SpecProblem(f"contrasts names {unknown[0]!r}, which is no arm: there are {', '.join(arms)}", place)
        if pair in given[:number]:
            raise SpecProblem(f"the contrast {pair[0]}, {pair[1]} is listed twice", place)
    return tuple((first, second) for first, second in given)


def _known(name: Any, names: Mapping[str, None], place: Place) -> None:
    if not isinstance(name, str) or name not in names:
        raise SpecProblem(f"pairing names {name!r}, which is no contestant: there are {', '.join(names)}", place)


def _mapping(given: Any, place: Place, what: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise SpecProblem(f"{what} must be a mapping of {', '.join(keys)}", place)
    for key in given:
        if key not in keys:
            raise SpecProblem(f"unknown key {key!r}: {what} has {', '.join(keys)}", (*place, str(key)))
    return given


def _list(document: Mapping[str, Any], key: str, most: int) -> list[Any]:
    value = document.get(key, [])
    if not isinstance(value, list):
        raise SpecProblem(f"{key} must be a list", (key,))
    if len(value) > most:
        raise SpecProblem(f"an experiment has at most {most} {key}, not {len(value):,}", (key, most))
    return value


def _unique(names: list[str], key: str, what: str) -> None:
    seen: set[str] = set()
    for n, name in enumerate(names):
        if name in seen:
            raise SpecProblem(f"two {what}s are named {name!r}", (key, n))
        seen.add(name)


def _text(document: Mapping[str, Any], key: str, place: Place, longest: int) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value.strip():
        raise SpecProblem(f"{key} must be a text", (*place, key) if key in document else place)
    if len(value) > longest:
        raise SpecProblem(f"{key} has more than {longest} characters", (*place, key))
    return value.strip()


def _optional_text(document: Mapping[str, Any], key: str, place: Place, longest: int) -> str | None:
    value = document.get(key)
    if value is not None and not isinstance(value, str):
        raise SpecProblem(f"{key} must be a text", (*place, key))
    if value is not None and len(value) > longest:
        raise SpecProblem(f"{key} has more than {longest:,} characters", (*place, key))
    return value


def _flag(document: Mapping[str, Any], key: str, default: bool, place: Place = ()) -> bool:
    value = document.get(key, default)
    if not isinstance(value, bool):
        raise SpecProblem(f"{key} must be true or false", (*place, key))
    return value


def _whole(document: Mapping[str, Any], key: str, place: Place, default: int, least: int, most: int) -> int:
    value = document.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise SpecProblem(f"{key} must be a whole number from {least:,} to {most:,}", (*place, key))
    return value


def _number(
    document: Mapping[str, Any], key: str, place: Place, fits: Callable[[float], bool], range_: str
) -> float | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not fits(value):
        raise SpecProblem(f"{key} must be a number {range_}".rstrip(), (*place, key))
    return float(value)
