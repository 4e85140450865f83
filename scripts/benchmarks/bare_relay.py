"""The reference: Redis to the `websockets` library and nothing else. No Postgres, no order, no promise.

It forwards each published message as it is to whoever asked for that debate.
"""

import asyncio
from urllib.parse import parse_qs, urlsplit

from redis.asyncio import Redis
from websockets.asyncio.server import ServerConnection, broadcast, serve

from app.messaging.bus import CHANNEL_PREFIX
from app.realtime.connection import PING_SECONDS
from app.settings import load_settings
from scripts.benchmarks.watchers import raise_file_limit


async def main() -> None:
    settings = load_settings()
    watching: dict[str, set[ServerConnection]] = {}

    async def watch(connection: ServerConnection) -> None:
        assert connection.request is not None
        debate_id = parse_qs(urlsplit(connection.request.path).query)["debate_id"][0]
        if debate_id not in watching:
            watching[debate_id] = set()
            await pubsub.subscribe(f"{CHANNEL_PREFIX}{debate_id}")
        watching[debate_id].add(connection)
        # Ours begins with this too: it confirms the subscription to the client.
        await connection.send('{"event":"initial_state","data":{}}')
        try:
            await connection.wait_closed()
        finally:
            watching[debate_id].discard(connection)

    redis = Redis.from_url(str(settings.redis_url))
    pubsub = redis.pubsub(ignore_subscribe_messages=True)
    # Without any subscription there is nothing to listen to.
    await pubsub.subscribe(f"{CHANNEL_PREFIX}none")
    options = {"compression": None, "ping_interval": PING_SECONDS}
    async with serve(watch, settings.server_host, settings.server_port, **options):  # type: ignore[arg-type]
        async for message in pubsub.listen():
            debate_id = message["channel"].decode().removeprefix(CHANNEL_PREFIX)
            broadcast(watching.get(debate_id, ()), message["data"].decode())


if __name__ == "__main__":
    raise_file_limit()
    asyncio.run(main())
