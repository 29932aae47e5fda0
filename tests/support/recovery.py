"""How long a mirror stands still after a fault, and what its /status and its log say meanwhile."""

import time

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from daemon_status import errors_of, topics_of
from mirror_daemon import MirrorDaemon
from waiting import NotYet, wait_until

ANSWER_SECONDS = 2


def positions_of(status: dict, end: str = "destination_end") -> dict[tuple[str, int], tuple[str, int]]:
    """State and end of each partition."""
    return {(topic["topic"], p["partition"]): (p["state"], p[end] or 0) for topic in topics_of(status) for p in topic["partitions"]}


class Recovery:
    """Made right after a fault. Then wait_mirroring(), and report() for a person."""

    def __init__(self, daemon: MirrorDaemon, what: str, side: str, source: AdminClient) -> None:
        """`side` is where the fault is: a mirror goes on for a moment with what it has from a source that is gone."""
        self._source = source
        self._daemon = daemon
        self._what = what
        self._began = time.monotonic()
        self._log_bytes = len(daemon.log())
        self._notes: list[str] = []
        self._states: dict[str, int] = {}
        self._last = "none"  # what was waited for last
        self._errors: dict[str, None] = {}
        self._stood = positions_of(daemon.status(), f"{side}_end")

    def note(self, what: str) -> None:
        """Remembers a moment for the report."""
        self._notes.append(f"{what} after {self.seconds():.1f} s")

    def seconds(self) -> float:
        """Since the fault."""
        return time.monotonic() - self._began

    def wait_mirroring(self, seconds: float) -> float:
        """Waits until every partition is MIRRORING, and beyond where that side stood or at the source's end.

        A writer that the fault has stopped as well leaves nothing to mirror; the source itself is asked for its end then.
        Returns the seconds since the fault.
        """

        def flowing() -> bool:
            status = self._daemon.status()
            now = positions_of(status)
            for state, _ in now.values():
                self._states[state] = max(self._states.get(state, 0), sum(1 for s, _ in now.values() if s == state))
            self._errors.update(dict.fromkeys(errors_of(status)))
            still = []
            for (topic, partition), (_, stood) in self._stood.items():
                state, end = now[topic, partition]
                wants = "" if end > stood else self._missing_beyond(end, topic, partition)
                if state != "MIRRORING" or wants:
                    still.append(f"{topic}-{partition} is {state} at {end}, {wants or 'beyond the fault'}")
            if still:
                self._last = still[0]
                raise NotYet(f"{len(still)} partitions, such as {still[:3]}, errors {errors_of(status)[:3]}")
            return True

        wait_until(flowing, f"all partitions to go on after {self._what}", seconds - self.seconds(), pause=0.05)
        self.note("all partitions mirror again")
        return self.seconds()

    def _missing_beyond(self, end: int, topic: str, partition: int) -> str:
        """What the source has beyond `end`, or why it does not tell; empty: nothing."""
        where = TopicPartition(topic, partition)
        try:
            source_end = self._source.list_offsets({where: OffsetSpec.latest()}, request_timeout=ANSWER_SECONDS)[where].result().offset
        except KafkaException as problem:
            return f"the source does not tell its end: {problem.args[0].str()}"
        return f"the source ends at {source_end}" if source_end > end else ""

    def errors(self) -> list[str]:
        """Every error that /status has shown during the waits."""
        return list(self._errors)

    def log(self) -> list[str]:
        """The daemon's log lines since the fault."""
        return self._daemon.log().encode()[self._log_bytes:].decode(errors="replace").splitlines()

    def report(self) -> str:
        """One line."""
        shown = ", ".join(f"{state} {count}" for state, count in sorted(self._states.items()))
        return f"{self._what}: {', '.join(self._notes)}; the last one: {self._last}; at most {shown}; {len(self.log())} log lines"

