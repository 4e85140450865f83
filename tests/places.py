"""Places for tests: a database and a number of Valkey each. A place is emptied for the next test, and the APIs that
run on it stay: to start one costs more than most tests do."""

import httpx
import redis
from databases import Databases
from harness import Api, KeptApi, Place, end, numbers

from app.embedded import ServerUrls
from app.settings import Settings

VALKEY_NUMBERS = 16
MOST_PLACES = 8
"""They keep their numbers of Valkey; the other numbers go round among places that are not given back."""
MOST_KEPT = 4
"""APIs on one place: each holds memory and connections to the database."""
ANSWERS_WITHIN_SECONDS = 5.0


class Places:
    def __init__(self, servers: ServerUrls, databases: Databases) -> None:
        self._servers = servers
        self._databases = databases
        self._idle: list[Place] = []
        self._made = 0
        self._killed: dict[str, int] = {}
        """Of each database, how many of its sessions had been killed when its place was last taken."""

    def make(self) -> Place:
        """One of which nobody hears again."""
        # Nothing of an earlier test is alive when its number comes round again.
        return self._new(MOST_PLACES + next(numbers) % (VALKEY_NUMBERS - MOST_PLACES))

    def take(self) -> Place:
        """An empty one, to be given back."""
        if self._idle:
            taken = self._idle.pop()
        else:
            assert self._made < MOST_PLACES, "places are not given back"
            self._made += 1
            taken = self._new(self._made - 1)
        self._killed[taken.database] = self._databases.sessions_killed(taken.database)
        return taken

    def give_back(self, place: Place) -> None:
        kept = [*place.kept_apis, *(api for api in place.own_apis if _is_well(api))][-MOST_KEPT:]
        if self._databases.sessions_killed(place.database) > self._killed[place.database]:
            # They may have been an API's, which finds that out one request at a time.
            kept = []
        stay = {api.program.pid for api in kept}
        programs = [*place.programs, *(api.program for api in place.kept_apis)]
        end([program for program in programs if program.pid not in stay])
        emptied = self._at(place.database, place.redis_url, kept)
        if place.settings.database_url == emptied.settings.database_url:
            emptied.open_session = place.open_session
        else:
            place.close_session()
        if not self._databases.empty(emptied):
            end([api.program for api in kept])
            emptied.close_session()
            self._databases.drop(place.database)
            emptied = self._at(self._databases.make(), place.redis_url, [])
        redis.Redis.from_url(place.redis_url).flushdb()
        self._idle.append(emptied)

    def end(self) -> None:
        for place in self._idle:
            end([api.program for api in place.kept_apis])
            place.close_session()

    def _new(self, number: int) -> Place:
        redis_url = self._servers.redis_url.replace("db=0", f"db={number}")
        redis.Redis.from_url(redis_url).flushdb()
        return self._at(self._databases.make(), redis_url, [])

    def _at(self, database: str, redis_url: str, kept: list[KeptApi]) -> Place:
        url = self._databases.url(database)
        settings = Settings(database_url=url, redis_url=redis_url, claim_seconds=3)
        return Place(settings, database=database, redis_url=redis_url, kept_apis=kept)


def _is_well(kept: KeptApi) -> bool:
    """Not ended, stopped or stuck by its test."""
    if kept.program.poll() is not None:
        return False
    api = Api.at(kept.port, ANSWERS_WITHIN_SECONDS)
    with api.http:
        try:
            return api.http.get("/health").status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False
