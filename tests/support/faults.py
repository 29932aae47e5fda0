"""What a fault proxy shows to the faults in force, and how they are taken into force; fault_kinds has what they can do.

A fault is added to `Faults` while traffic flows, takes the requests that it is meant for, and remembers what it did, so
that a test can assert that it happened. All of it may be used from any thread.
"""

import dataclasses
import functools
import threading
import time
from typing import Callable

from kafka_frames import Message, decode_request
from kafka_layouts import LAYOUTS, Api
from waiting import NotYet, wait_until

FIRED_SECONDS = 30


@dataclasses.dataclass
class Exchange:
    """One request on its way, and its connection."""

    api: int
    version: int
    frame: bytes   # the request as the client sent it, without its leading size
    broker: int    # which of the proxy's brokers it is for
    connection: "Connection"
    taken_by: list["Fault"] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def request(self) -> Message:
        """Its fields; none where the API is not known by them. Not to be altered."""
        return decode_request(self.frame) if self.api in LAYOUTS else {}


class Connection:
    """The switches of one connection, which faults may turn."""

    def __init__(self) -> None:
        self.silent = False                   # answers are read from the broker and go no further
        self.behind_next: bytes | None = None  # an answer that goes on after the next one
        self.close_client: Callable[[], None] = lambda: None


@dataclasses.dataclass
class Passed:
    """One request that went through, or did not."""

    at: float  # time.monotonic()
    api: int
    size: int
    broker: int


Where = Callable[[Message], bool]


class Fault:
    """Takes the nth request of an API that the condition holds for, and the next ones up to `times`; lets all pass as they are."""

    loses = False  # true: it can happen to a request or an answer that another fault has lost already

    def __init__(self, api: Api, where: Where, nth: int = 1, times: int = 1) -> None:
        self.api, self.where, self.nth, self.times = api, where, nth, times
        self.matching = 0             # requests that the condition held for
        self.done: list[Exchange] = []  # what the fault was done to
        self.cleared = threading.Event()

    def takes(self, exchange: Exchange) -> bool:
        """Whether this request is one of those; called once for each request."""
        if exchange.api != self.api or self.cleared.is_set() or not self.where(exchange.request):
            return False
        self.matching += 1
        return self.nth <= self.matching < self.nth + self.times

    def on_request(self, exchange: Exchange, frame: bytes) -> bytes | None:
        """The request as it goes on to the broker; None: it does not."""
        return frame

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        """The answer as it goes on to the client; None: it does not."""
        return frame

    def clear(self) -> None:
        """Ends it: nothing more is taken, what is held goes on."""
        self.cleared.set()

    def wait_fired(self, count: int = 1, seconds: float = FIRED_SECONDS) -> None:
        """Waits until it was done to so many requests."""

        def fired() -> bool:
            if len(self.done) < count:
                raise NotYet(f"{len(self.done)} done, {self.matching} matching requests seen, of which number {self.nth} is the first meant")
            return True

        wait_until(fired, f"{type(self).__name__} of {count} {self.api.name} request(s)", seconds, pause=0.02)


class Faults:
    """The faults that are in force, and what has passed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self.passed: list[Passed] = []

    def add(self, fault: Fault) -> Fault:
        """From now on; returns it."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Ends all of them."""
        with self._lock:
            faults, self._faults = self._faults, []
        for fault in faults:
            fault.clear()

    def take(self, exchange: Exchange) -> None:
        """Shows a request that has come from a client to all faults."""
        with self._lock:
            self.passed.append(Passed(time.monotonic(), exchange.api, len(exchange.frame), exchange.broker))
            exchange.taken_by = [fault for fault in self._faults if fault.takes(exchange)]
