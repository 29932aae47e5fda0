"""Waiting for a condition, with a bound: nothing in the tests sleeps for a fixed time and hopes."""

import time
from typing import Callable, TypeVar

Value = TypeVar("Value")


class NotInTime(AssertionError):
    """A condition did not come true within its bound; the text names it and what was seen last."""


def wait_until(condition: Callable[[], Value], what: str, seconds: float = 60, pause: float = 0.1) -> Value:
    """Calls `condition` until it returns something true, and returns that.

    `what` completes "gave up after N s waiting for ...". An exception of the condition ends the wait, except
    ConnectionError and NotYet, which count as "not yet".
    """
    deadline = time.monotonic() + seconds
    seen: object = None
    while True:
        try:
            value = condition()
            if value:
                return value
            seen = value
        except (ConnectionError, NotYet) as problem:
            seen = problem
        if time.monotonic() >= deadline:
            raise NotInTime(f"gave up after {seconds:g} s waiting for {what}; last seen: {seen!r}")
        time.sleep(pause)


class NotYet(Exception):
    """Raised by a condition to say what is still missing."""
