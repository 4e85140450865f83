"""Frames of the page of a debate with 500 turns while new turns come and a reader scrolls, from Chromium's own trace.

`PipelineReporter` is Chromium's record of a frame: presented, or dropped because it was not ready in time. The time of
the main thread is what the page itself costs, whatever else the machine does.
"""

import argparse
import json
import statistics
import threading
from itertools import pairwise
from typing import Any

from playwright.sync_api import Page

from debate_client import Client
from scripts.camera.product import running

SEATS = ("proposer", "opponent", "arbitrator")
CATEGORIES = ["cc", "benchmark", "toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline.frame"]
FRAME_MS = 1000 / 60
PRESENTED = {"STATE_PRESENTED_ALL", "STATE_PRESENTED_PARTIAL"}
TASKS = {"ThreadControllerImpl::RunTask", "RunTask"}
TEXT = (
    "A point with **weight**, a list:\n\n- one\n- two\n\n> and a quote\n\n"
    + "It follows that the harbour should be deeper. " * 8
)

# Down and up again, as fast as a reader's wheel, on every frame.
_SCROLL = """seconds => new Promise(done => {
  const began = performance.now();
  let step = 14;
  const move = (now) => {
    const before = scrollY;
    scrollBy(0, step);
    if (scrollY === before) step = -step;
    if (now - began < seconds * 1000) requestAnimationFrame(move); else done();
  };
  requestAnimationFrame(move);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/frames", description=__doc__)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--every", type=float, default=0.3, help="seconds between two new turns")
    options = parser.parse_args()
    with running("frames") as (address, browser):
        speaker = Speaker(address)
        for _ in range(options.turns):
            speaker.speak()
        page = browser.new_context(base_url=address, viewport={"width": 1200, "height": 760}).new_page()
        page.goto(f"/debates/{speaker.debate_id}/view")
        page.get_by_text("Live", exact=True).wait_for()
        events, came = trace(page, speaker, options)
    report(events, came, options)


def trace(page: Page, speaker: "Speaker", options: argparse.Namespace) -> tuple[list[Any], int]:
    is_over = threading.Event()

    def keep_speaking() -> None:
        while not is_over.wait(options.every):
            speaker.speak()

    before = page.locator("#turns > li[data-seq]").count()
    others = threading.Thread(target=keep_speaking)
    others.start()
    browser = page.context.browser
    assert browser is not None
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.evaluate(_SCROLL, options.seconds)
    recorded = browser.stop_tracing()
    is_over.set()
    others.join()
    came = page.locator("#turns > li[data-seq]").count() - before
    return json.loads(recorded)["traceEvents"], came


def report(events: list[Any], came: int, options: argparse.Namespace) -> None:
    presented, dropped = frames(events)
    busy = busy_by_frame(events)
    tail = sorted(busy)[int(len(busy) * 0.99)]
    print(f"a debate of {options.turns} turns, {came} more in {options.seconds:g} s, with a reader who scrolls")
    share = 100 * dropped / (presented + dropped)
    print(f"frames presented a second: {presented / options.seconds:.1f}; dropped: {share:.1f} %")
    print(
        f"main thread in a frame ({FRAME_MS:.1f} ms): median {statistics.median(busy):.1f} ms, p99 {tail:.1f} ms; "
        f"frames that took longer: {100 * sum(took > FRAME_MS for took in busy) / len(busy):.1f} %"
    )


def frames(events: list[Any]) -> tuple[int, int]:
    """How many frames of the page were presented and how many were dropped. A frame whose parts come separately has
    several records, and is presented if one of them was."""
    pages = {event["pid"] for event in events if event["name"] == "FireAnimationFrame"}
    states: dict[int, set[str]] = {}
    for event in events:
        if event["name"] == "PipelineReporter" and event["pid"] in pages and event.get("args"):
            # Chromium has renamed this record once.
            record = event["args"].get("frame_reporter") or event["args"]["chrome_frame_reporter"]
            states.setdefault(record["frame_sequence"], set()).add(record["state"])
    presented = sum(bool(found & PRESENTED) for found in states.values())
    dropped = sum("STATE_DROPPED" in found and not found & PRESENTED for found in states.values())
    return presented, dropped


def busy_by_frame(events: list[Any]) -> list[float]:
    """Milliseconds of CPU that the page's main thread spent from each frame to the next."""
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    mine = [event for event in events if (event.get("pid"), event.get("tid")) in threads]
    begins = sorted(event["ts"] for event in mine if event["name"] == "FireAnimationFrame")
    tasks = sorted((event["ts"], event.get("tdur", event.get("dur", 0))) for event in mine if event["name"] in TASKS)
    found, at = [], 0
    for begin, following in pairwise(begins):
        took = 0
        while at < len(tasks) and tasks[at][0] < following:
            if tasks[at][0] >= begin:
                took += tasks[at][1]
            at += 1
        found.append(took / 1000)
    return found


class Speaker:
    """Both sides of one debate. Each turn has its own client, whichever thread it comes from."""

    def __init__(self, address: str) -> None:
        self._address = address
        seats = {role: {"player": "external"} for role in SEATS}
        with Client(address, "") as client:
            made = client.create("The harbour should be deeper", seats=seats, limits={"max_rounds": 10_000})
        self.debate_id = made.debate.id
        self._last, self._count = made.argument.id, 0

    def speak(self) -> None:
        role = SEATS[1 - self._count % 2]
        with Client(self._address, "") as client:
            self._last = client.argue(self.debate_id, role, TEXT, self._last).argument.id
        self._count += 1


main()
