"""All Prometheus metrics. docs/metrics.md has the same list; a test compares the two.

Labels are bounded: never an id, never free text from outside. Events are counted after the commit.
"""

from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder
from prometheus_client.multiprocess import MultiProcessCollector

from app.core.players import model_of

# Without the _created series, which would double the number of series.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()

_SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_THINKING = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
_WAITING = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)


def _counter(name: str, meaning: str, *labels: str) -> Counter:
    return Counter(name, meaning, labels, registry=REGISTRY)


def _gauge(name: str, meaning: str, *labels: str) -> Gauge:
    return Gauge(name, meaning, labels, registry=REGISTRY, multiprocess_mode="livesum")


def _histogram(name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(name, meaning, labels, registry=REGISTRY, buckets=buckets)


turns = _counter("debate_turns_total", "Turns stored", "type", "player")
turn_seconds = _histogram(
    "debate_turn_seconds", "How long a player took for a turn that was stored", _THINKING, "player"
)
queue_delay_seconds = _histogram(
    "debate_queue_delay_seconds",
    "Time from when a turn was due to its claim by a worker, by the database's clock",
    _WAITING,
)
turn_attempts = _counter("debate_turn_attempts_total", "Times that a worker asked a player for a turn", "provider")
turn_failures = _counter("debate_turn_failures_total", "Attempts that failed, by class", "provider", "kind")
webhook_deliveries = _counter("debate_webhook_deliveries_total", "Attempts to deliver a webhook, by result", "result")
debates_failed = _counter("debate_debates_failed_total", "Debates that failed after their last attempt", "provider")
claims_lost = _counter("debate_claims_lost_total", "Turns dropped because their worker had lost the claim")
sweeps = _counter("debate_sweeps_total", "Passes of the sweeper in this process")
claims_reclaimed = _counter("debate_claims_reclaimed_total", "Debates of dead workers that the sweeper released")

listeners = _gauge("debate_listeners", "Listeners that are connected", "kind")
relay_lag_seconds = _histogram(
    "debate_relay_lag_seconds", "Time from storing a turn to its arrival at the relay", _SHORT
)
relay_messages = _counter("debate_relay_messages_total", "Messages received from Redis by the relay")
relay_missed_turns = _counter(
    "debate_relay_missed_turns_total", "Turns that the relay found in the database before their event arrived"
)
http_requests = _counter("debate_http_requests_total", "Requests answered", "method", "route", "status")
http_request_seconds = _histogram("debate_http_request_seconds", "How long requests took", _SHORT, "method", "route")

connections_in_use = _gauge("debate_database_connections_in_use", "Connections of the pool that are in use")
connections_max = _gauge("debate_database_connections_max", "The most connections of the pool")
thread_restarts = _counter(
    "debate_thread_restarts_total", "Crashes of supervised threads, each followed by a restart", "thread"
)

model_cost = _counter("debate_model_cost_usd_total", "What calls to models have cost, failed ones too", "player")
guardrail_verdicts = _counter("debate_guardrail_verdicts_total", "Verdicts of the guardrail", "about", "verdict")
guardrail_failures = _counter("debate_guardrail_failures_total", "Evaluations that failed, by class", "kind")

matches = _counter("debate_matches_total", "Matches of experiments that began, were completed or failed", "status")
feeder_delay_seconds = _histogram(
    "debate_feeder_delay_seconds",
    "Time from the end of an experiment's debate here to the feeder's next pass",
    _WAITING,
)
experiment_cost = _counter("debate_experiment_cost_usd_total", "What calls to models have cost experiments")
judgments = _counter("debate_judgments_total", "Judgments that workers made or gave up", "status", "provider")

MOST_PLAYERS = 100
_players: set[str] = set()


def player_label(player: str) -> str:
    """The name of one of the first hundred players of this process, or "other": clients choose model names freely."""
    if player not in _players:
        if len(_players) >= MOST_PLAYERS:
            return "other"
        _players.add(player)
    return player


def provider_label(player: str) -> str:
    """Without the model's name, because it is used for failed players too, whose model may not exist."""
    model = model_of(player)
    return model[0] if model else player


def seconds_since(moment: str) -> float:
    """Since an ISO time of the database's clock. At least 0, because the clocks of two machines may differ."""
    then = datetime.fromisoformat(moment)
    return max(0.0, (datetime.now(then.tzinfo) - then).total_seconds())


def shown_by_all_processes(accept: str) -> tuple[bytes, str]:
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type
