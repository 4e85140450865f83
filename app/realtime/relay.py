"""The relay of a process: one Redis connection, a feed for each debate with listeners, and the operators' feed.

A debate's channel is subscribed while the debate has a feed. Postgres is read after Redis has confirmed the
subscription, so no turn falls between the two. An event is a hint that carries its turn; turns missing before it are
read from Postgres. All feeds are reconciled with Postgres every few seconds, and whenever Redis recovers.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from app.core.errors import DebateNotFound, TooManyListeners
from app.messaging.bus import OPERATORS_CHANNEL, channel_of
from app.messaging.incoming import Heard, state_mark
from app.messaging.subscription import Subscription
from app.observe import metrics
from app.observe.threads import SupervisedThread
from app.realtime.feed import Feed, Item, Listener, Message
from app.realtime.operators import LOOK_BACK, OperatorsFeed, OperatorsListener, Version
from app.realtime.source import Missed, PostgresSource
from app.usecases.outages import tolerate_errors

COMPARE_SECONDS = 3.0
COMPARE_SECONDS_WITHOUT_REDIS = 1.0
CONFIRM_SECONDS = 1.0
"""A listener waits this long for Redis to confirm a subscription. A later confirmation is followed by a comparison."""
READ_AT_ONCE = 200
FEEDS_IN_ONE_CATCH_UP = 100
TURNS_IN_ONE_CATCH_UP = 20
"""Of one debate. With all feeds of a catch-up they are in memory together; listeners read further ones themselves."""
_GOING_AWAY = "This server is shutting down"


class Relay:
    def __init__(self, subscription: Subscription, source: PostgresSource, most_listeners: int = 10_000) -> None:
        self._subscription = subscription
        self.most_listeners = most_listeners
        self._listener_count = 0
        self.source = source
        self._lock = threading.Lock()
        self._feeds: dict[UUID, Feed] = {}
        self._operators = OperatorsFeed()
        self._look = threading.Event()
        self._ending = threading.Event()
        for name, work in (("relay-reader", self._read), ("relay-compare", self._compare_again_and_again)):
            SupervisedThread(name, work, self._ending).start()

    @contextmanager
    def listen(self, debate_id: UUID, after_seq: int = 0, kind: str = "websocket") -> Iterator[Listener]:
        with self._place(kind), self._listener(debate_id, after_seq) as listener:
            yield listener

    @contextmanager
    def listen_to_all(self) -> Iterator[OperatorsListener]:
        listener = OperatorsListener()
        with self._place("operators"):
            with self._lock:
                self._operators.add(listener)
                self._subscription.add(OPERATORS_CHANNEL)
            try:
                self._subscription.wait_until_confirmed(OPERATORS_CHANNEL, CONFIRM_SECONDS)
                # From now on Postgres is compared with what was sent; earlier changes are in the list that operators
                # read.
                self._look.set()
                yield listener
            finally:
                with self._lock:
                    self._operators.remove(listener)
                    if self._operators.is_empty:
                        self._subscription.remove(OPERATORS_CHANNEL)

    @contextmanager
    def _place(self, kind: str) -> Iterator[None]:
        """Counts a listener. Refuses beyond the limit, which leaves room for ordinary requests."""
        with self._lock:
            if self._ending.is_set():
                raise TooManyListeners(_GOING_AWAY)
            if self._listener_count >= self.most_listeners:
                raise TooManyListeners("This server has reached its limit of listeners")
            self._listener_count += 1
        metrics.listeners.labels(kind).inc()
        try:
            yield
        finally:
            metrics.listeners.labels(kind).dec()
            with self._lock:
                self._listener_count -= 1

    @contextmanager
    def _listener(self, debate_id: UUID, after_seq: int) -> Iterator[Listener]:
        with self._lock:
            feed = self._feeds.get(debate_id)
            if feed is None or feed.is_gone:
                # A deleted debate may be created again while listeners of the old one are still connected.
                feed = self._feeds[debate_id] = Feed(debate_id)
                self._subscription.add(channel_of(debate_id))
            listener = Listener(feed, after_seq)
            feed.add(listener)
        try:
            with feed.starting:
                if not feed.is_started and not feed.is_gone:
                    self._start(feed)
            if self._ending.is_set():
                # The feed may have ended because of the shutdown: do not report the debate as deleted.
                raise TooManyListeners(_GOING_AWAY)
            if feed.is_gone:
                raise DebateNotFound(debate_id)
            yield listener
        finally:
            with self._lock:
                feed.remove(listener)
                if feed.is_empty and self._feeds.get(debate_id) is feed:
                    del self._feeds[debate_id]
                    self._subscription.remove(channel_of(debate_id))

    def _start(self, feed: Feed) -> None:
        """Reads the debate's position. What was committed before this read is in it; later events are received."""
        channel = channel_of(feed.debate_id)
        is_confirmed = self._subscription.wait_until_confirmed(channel, CONFIRM_SECONDS)
        self._compare([feed])
        self._check_early(feed)
        if not is_confirmed and self._subscription.is_confirmed(channel):
            # Confirmed since: what was published before that is neither received nor in the position.
            self._look.set()

    def take(self, listener: Listener) -> list[Item]:
        feed = listener.feed
        items = feed.after(listener.seq)
        if items is None:
            items = self._stored(feed, listener.seq)
        if items:
            listener.seq = items[-1].seq
        return items

    def take_all(self, listener: Listener) -> list[Message]:
        messages: list[Message] = []
        passing = listener.passing
        for item in self.take(listener):
            while passing and passing[0].after_seq < item.seq:
                messages.append(passing.popleft())
            messages.append(item)
        while passing and passing[0].after_seq <= listener.seq:
            messages.append(passing.popleft())
        return messages

    def is_of(self, listener: Listener, created_at: str | None) -> bool:
        """Whether this feed is of the debate created at `created_at` (None: read it from Postgres). Ends the feed of a
        deleted debate whose id another one has now."""
        feed = listener.feed
        if created_at is None:
            self._compare([feed])
        elif created_at != feed.created_at:
            feed.end()
        return not feed.is_gone

    def end(self) -> None:
        self._ending.set()
        self._look.set()
        with self._lock:
            feeds = list(self._feeds.values())
        for feed in feeds:
            feed.end()
        self._operators.end()

    @property
    def hears(self) -> bool:
        """Redis is connected; otherwise only the comparisons find new turns."""
        return self._subscription.is_up

    @property
    def is_ending(self) -> bool:
        return self._ending.is_set()

    def _read(self) -> None:
        for heard in self._subscription.messages(self._ending):
            if heard is None:
                self._look.set()
            elif heard.is_for_operators:
                self._tell_operators(heard)
            elif feed := self._feeds.get(heard.debate_id):
                if feed.is_started:
                    self._take_in(feed, heard)
                elif heard.event != "argument_delta":
                    feed.early = (heard.seq, heard.state)
                    self._check_early(feed)

    def _check_early(self, feed: Feed) -> None:
        """Called by the reader and by the starter of the feed, each after its own step: one of them sees both."""
        if feed.is_started and feed.early is not None:
            seq, state = feed.early
            if not state or seq > feed.known or (seq == feed.known and state != feed.state):
                self._look.set()

    def _take_in(self, feed: Feed, heard: Heard) -> None:
        if heard.event == "debate_deleted" or (heard.debate and heard.debate["created_at"] != feed.created_at):
            # Reconcile: a late event may be about an earlier debate with this id.
            self._look.set()
        elif heard.event == "new_argument":
            if heard.debate:
                metrics.relay_lag_seconds.observe(metrics.seconds_since(heard.debate["updated_at"]))
            if not feed.offer([Item(heard.seq, heard.turn_id, heard.data)], heard.state):
                self._look.set()
        elif heard.event == "argument_delta":
            feed.say(heard.event, heard.data)
        elif heard.seq > feed.known:
            # It follows a turn that is not here yet: the comparison sends both.
            self._look.set()
        elif heard.event == "seat.waiting":
            if heard.seq == feed.known and not feed.say(heard.event, heard.data, heard.state):
                # It is late, or the change of state before it was lost.
                self._look.set()
        elif heard.seq == feed.known and heard.debate and heard.debate["updated_at"] > feed.compared_at:
            feed.tell(heard.event, heard.data, heard.state)

    def _tell_operators(self, heard: Heard) -> None:
        shown = heard.debate
        if shown is None:
            self._operators.pass_on(heard.debate_id, heard.event, heard.data)
        else:
            change = Version(shown["updated_at"], shown["argument_count"], state_mark(shown), shown["created_at"])
            self._operators.tell(heard.debate_id, change, heard.data)

    def _compare_again_and_again(self) -> None:
        while not self._ending.is_set():
            self._look.wait(COMPARE_SECONDS if self._subscription.is_up else COMPARE_SECONDS_WITHOUT_REDIS)
            self._look.clear()
            with self._lock:
                feeds = [feed for feed in self._feeds.values() if feed.is_started]
            with tolerate_errors("relay.compare"):
                self._compare(feeds)
                self._compare_all()

    def _compare(self, feeds: list[Feed]) -> None:
        if not feeds:
            return
        changes = self.source.last_changes([feed.debate_id for feed in feeds])
        behind, untold = [], []
        for feed in feeds:
            change = changes.get(feed.debate_id)
            if change is None:
                feed.end()
            elif not feed.is_started:
                feed.start(change.seq, change.state, change.created_at)
            elif change.created_at != feed.created_at:
                # Deleted, and another debate created under its id: its turns are not for these listeners.
                feed.end()
            elif change.seq > (known := feed.known):
                behind.append((feed, known))
            elif change.seq == known and change.state != feed.state:
                untold.append(feed)
        self._catch_up(behind)
        if untold:
            self._tell_state(untold)

    def _catch_up(self, behind: list[tuple[Feed, int]]) -> None:
        for start in range(0, len(behind), FEEDS_IN_ONE_CATCH_UP):
            part = behind[start : start + FEEDS_IN_ONE_CATCH_UP]
            found = self.source.turns_after({feed.debate_id: seq for feed, seq in part}, TURNS_IN_ONE_CATCH_UP)
            for feed, _ in part:
                self._take_missed(feed, found.get(feed.debate_id))

    def _take_missed(self, feed: Feed, missed: Missed | None) -> None:
        if missed is None or missed.change.created_at != feed.created_at:
            feed.end()
            return
        change = missed.change
        metrics.relay_missed_turns.inc(max(0, change.seq - feed.known))
        for item in missed.items:
            metrics.relay_lag_seconds.observe(metrics.seconds_since(item.stored_at))
        if missed.items and missed.items[-1].seq == change.seq:
            feed.offer(missed.items, change.state)
        # If the feed is still behind, the gap is too large for the log: listeners read Postgres from their position.
        feed.start(change.seq, change.state, change.created_at)

    def _stored(self, feed: Feed, seq: int) -> list[Item]:
        """The next turns, from Postgres. If the debate was deleted, ends the feed and returns none."""
        missed = self.source.turns_after({feed.debate_id: seq}, READ_AT_ONCE).get(feed.debate_id)
        if missed is None or missed.change.created_at != feed.created_at:
            feed.end()
            return []
        return missed.items

    def _tell_state(self, feeds: list[Feed]) -> None:
        """Sends changes of state whose event was lost. Only here whole debates are read: such changes are rare."""
        positions = self.source.positions([feed.debate_id for feed in feeds])
        for feed in feeds:
            position = positions.get(feed.debate_id)
            if position is None or position.change.created_at != feed.created_at:
                feed.end()
            elif position.change.seq == feed.known and position.change.state != feed.state:
                feed.compared_at = position.change.updated_at
                feed.tell("state_changed", position.data, position.change.state)

    def _compare_all(self) -> None:
        if self._operators.is_empty:
            return
        since = self._operators.compared_until
        until, changes = self.source.changes(since - LOOK_BACK if since else None)
        missed = [debate_id for debate_id, change in changes.items() if self._operators.is_news(debate_id, change)]
        for debate_id, position in self.source.positions(missed).items() if missed else ():
            self._operators.tell(debate_id, position.change, position.data)
        self._operators.compared_until = until
