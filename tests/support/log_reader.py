"""Reads what a partition holds the way any consumer does, with a client that is not ours (librdkafka).

A record is seen here as an application sees it: filler, markers and empty batches do not show. Checksums are verified by
the client (check.crcs), so a batch that was patched wrongly ends the reading with an error.
"""

import time
from typing import Iterable, Iterator, NamedTuple

from confluent_kafka import (Consumer, IsolationLevel, KafkaError, KafkaException, TIMESTAMP_CREATE_TIME,
                             TIMESTAMP_LOG_APPEND_TIME, TopicPartition)
from confluent_kafka.admin import AdminClient, OffsetSpec

READ_UNCOMMITTED = "read_uncommitted"
READ_COMMITTED = "read_committed"
ISOLATION_LEVELS = (READ_UNCOMMITTED, READ_COMMITTED)

TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: "CreateTime", TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime"}
NO_TIMESTAMP = -1
REQUEST_SECONDS = 30
RECORDS_AT_ONCE = 2000


class Record(NamedTuple):
    """One record; None is null, which is another thing than empty."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    timestamp_type: str


class Ends(NamedTuple):
    """Where a partition starts and ends: log start, log end offset, last stable offset."""

    start: int
    leo: int
    lso: int


def read_ends(admin: AdminClient, topic: str, partitions: Iterable[int]) -> dict[int, Ends]:
    """The ends of these partitions. The log end offset is the high watermark: what consumers can reach."""
    partitions = list(partitions)
    answers = []
    for spec, isolation in ((OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED),
                            (OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED),
                            (OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)):
        asked = {TopicPartition(topic, partition): spec for partition in partitions}
        futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=REQUEST_SECONDS)
        answers.append({tp.partition: future.result().offset for tp, future in futures.items()})
    return {p: Ends(*(answer[p] for answer in answers)) for p in partitions}


def partitions_of(admin: AdminClient, topic: str) -> list[int]:
    """The partition numbers of a topic; none when the cluster has no such topic."""
    known = admin.list_topics(timeout=REQUEST_SECONDS).topics.get(topic)
    return sorted(known.partitions) if known and not known.error else []


class LogReader:
    """Reads partitions, one after the other, in one isolation level. Close it after use."""

    def __init__(self, settings: dict[str, object], isolation: str, silence_seconds: float = 60) -> None:
        self.isolation = isolation
        self._silence_seconds = silence_seconds
        self._topic = ""
        self._consumer = Consumer({
            **settings,
            "group.id": "log-reader",  # never used: partitions are assigned by hand, nothing is committed
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "check.crcs": True,
            "fetch.wait.max.ms": 20,  # the end of a partition shows in an empty answer, that is after this time
        })

    def records(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        """All records from offset `start` to before `end`, in the order in which they come.

        `end` must be reachable in this isolation level (LEO, or LSO). TimeoutError when nothing comes for a while.
        """
        if start >= end:
            return
        if topic != self._topic:
            # Fills the client's cache; otherwise it asks for an unknown topic's leaders only once a second.
            self._consumer.list_topics(topic, timeout=REQUEST_SECONDS)
            self._topic = topic
        self._consumer.assign([TopicPartition(topic, partition, start)])
        heard = time.monotonic()
        position = start
        while True:
            # consume(n) returns early only with n messages: what is there already is taken without waiting.
            messages = self._consumer.consume(RECORDS_AT_ONCE, timeout=0) or self._consumer.consume(1, timeout=0.2)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > self._silence_seconds:
                raise TimeoutError(f"{topic}-{partition}: nothing to read at offset {position}, the end is {end} ({self.isolation})")
            for message in messages:
                problem = message.error()
                if problem is None:
                    if message.offset() >= end:
                        return
                    position = message.offset() + 1
                    yield as_record(message)
                elif problem.code() == KafkaError._PARTITION_EOF:
                    if message.offset() >= end:
                        return
                else:
                    raise KafkaException(problem)

    def close(self) -> None:
        """Ends the connections."""
        self._consumer.close()

    def __enter__(self) -> "LogReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def as_record(message) -> Record:
    """A message of confluent-kafka in our terms."""
    kind, timestamp = message.timestamp()
    headers = message.headers()
    named = TIMESTAMP_TYPES.get(kind)
    # Format 0.9 has no timestamps: Kafka's own clients say -1 then, librdkafka 0.
    return Record(message.offset(), message.key(), message.value(), tuple(headers) if headers else (),
                  timestamp if named else NO_TIMESTAMP, named or "none")
