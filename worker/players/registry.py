"""Finds the player of a name."""

from app.core.players import LOCAL, SCRIPTED, model_of
from app.core.retry import PlayerError
from worker.players.base import Player
from worker.players.scripted.player import ScriptedPlayer

_SCRIPTED = ScriptedPlayer()


def player_for(name: str, models: Player | None = None) -> Player:
    if name == SCRIPTED:
        return _SCRIPTED
    if models is not None and (name == LOCAL or model_of(name)):
        return models
    raise PlayerError(f"No player is called {name!r} in this worker; it runs {SCRIPTED!r}", permanent=True)
