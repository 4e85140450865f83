"""Which player a name stands for."""

from app.core.players import SCRIPTED
from worker.players.base import Player, PlayerError
from worker.players.scripted import ScriptedPlayer

_SCRIPTED = ScriptedPlayer()


def player_for(name: str) -> Player:
    if name == SCRIPTED:
        return _SCRIPTED
    raise PlayerError(f"No player is called {name!r} in this worker; it runs {SCRIPTED!r}", permanent=True)
