"""Producers that write what mirrors find hard: batches of a chosen codec, interleaved transactions, awkward records."""

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Iterator

from confluent_kafka import KafkaException, Producer

PARTITIONS = 3
FLUSH_SECONDS = 120  # longer than a cluster needs to come back after its power was lost
FAR_FUTURE_MS = 4_102_444_800_000  # the year 2100
TRANSACTION_SECONDS = 900          # the brokers' default upper limit: an open transaction outlives a whole test

Headers = list[tuple[str, bytes | None]]


class WriteFailed(Exception):
    """A record was refused or not acknowledged in time."""


def make_producer(cluster: dict[str, object], **settings: object) -> Producer:
    """An idempotent producer; '_' in the names of further settings stands for '.'."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"enable.idempotence": True, "linger.ms": 5, "on_delivery": raise_on_failure, **cluster, **named})


def raise_on_failure(problem, message) -> None:
    """Comes out of flush() and poll()."""
    # Purged: the producer's own abort_transaction() dropped what it had not sent yet.
    if problem is not None and problem.name() not in ("_PURGE_QUEUE", "_PURGE_INFLIGHT"):
        raise WriteFailed(f"{message.topic()}-{message.partition()}: {problem}")


def flush(producer: Producer) -> None:
    """Ends the batches under way; returns when all is acknowledged."""
    left = producer.flush(FLUSH_SECONDS)
    if left:
        raise WriteFailed(f"{left} records were not acknowledged within {FLUSH_SECONDS} s")


def plain_text(number: int, partition: int) -> bytes:
    """A value that compresses about as well as real ones do."""
    word = random.Random(number * 31 + partition).choice(("invoice", "payment", "refund", "order"))
    return f'{{"kind":"{word}","number":{number},"partition":{partition},"note":"{word * (number % 7)}"}}'.encode()


def write_plain(producer: Producer, topic: str, first: int, count: int) -> None:
    """`count` records to each partition, each with a key; numbered so that no two are alike."""
    for number in range(first, first + count):
        for partition in range(PARTITIONS):
            send(producer, topic, partition, key=f"k{number % 97}".encode(), value=plain_text(number, partition))


def send(producer: Producer, topic: str, partition: int, **record: object) -> None:
    """produce(), which waits while the producer's queue is full."""
    while True:
        try:
            producer.produce(topic, partition=partition, **record)
            producer.poll(0)
            return
        except BufferError:
            producer.poll(0.1)


def awkward_records() -> Iterator[dict[str, object]]:
    """Every combination of null, empty and ordinary keys, values and headers, with times from 1970 to 2100."""
    keys = (None, b"", b"key", bytes(range(256)))
    values = (None, b"", b"value", b"\0" * 1000)
    headers: tuple[Headers, ...] = (
        [],
        [("null", None), ("empty", b""), ("text", b"x")],
        [("repeated", b"2"), ("repeated", b"1"), ("repeated", None), ("other", b"0"), ("repeated", b"2")],
        [("", b"the name is empty"), ("päck", bytes(range(256)))],
    )
    times = itertools.cycle((1, 1_000, 946_684_800_000, 1_700_000_000_123, FAR_FUTURE_MS))
    for key, value, header in itertools.product(keys, values, headers):
        yield {"key": key, "value": value, "headers": header, "timestamp": next(times)}


class TransactionalWriter:
    """An application that writes transactions as Kafka asks for it: it tries again after a passing error, aborts where the
    error says so, and after a fatal one a successor with the same transactional id goes on.
    """

    def __init__(self, cluster: dict[str, object], transactional_id: str) -> None:
        # A record that fails fails its transaction too, so that the end of the transaction tells.
        self._settings = {**cluster, "transactional.id": transactional_id, "linger.ms": 0, "on_delivery": lambda *_: None,
                          "transaction.timeout.ms": TRANSACTION_SECONDS * 1000}
        self._producer: Producer | None = None
        self._good = False  # nothing has failed in this transaction

    def begin(self) -> None:
        """Begins a transaction."""
        if self._producer is None:
            self._producer = make_producer(self._settings)
            insist(lambda: self._producer.init_transactions(FLUSH_SECONDS))
        self._producer.begin_transaction()
        self._good = True

    def write(self, topic: str, numbers: range) -> None:
        """One batch to each partition, unless something has failed before."""
        if not self._good:
            return
        try:
            for number in numbers:
                for partition in range(PARTITIONS):
                    send(self._producer, topic, partition, key=f"t{number % 50}".encode(), value=plain_text(number, partition))
            flush(self._producer)
        except KafkaException:
            self._good = False

    def end(self, commit: bool) -> None:
        """Commits, or aborts."""
        producer = self._producer
        try:
            if commit and self._good:
                try:
                    insist(lambda: producer.commit_transaction(FLUSH_SECONDS))
                    return
                except KafkaException as problem:
                    if not problem.args[0].txn_requires_abort():
                        raise
            insist(lambda: producer.abort_transaction(FLUSH_SECONDS))
        except KafkaException as problem:
            if not problem.args[0].fatal():
                raise
            self._producer = None


def insist(step: Callable[[], None]) -> None:
    """Takes a step of a transactional producer again while its error is a passing one."""
    deadline = time.monotonic() + FLUSH_SECONDS
    while True:
        try:
            step()
            return
        except KafkaException as problem:
            if not problem.args[0].retriable() or time.monotonic() > deadline:
                raise


class TransactionGroup:
    """Transactional producers whose transactions overlap in the same partitions."""

    def __init__(self, cluster: dict[str, object], prefix: str, count: int, topic: str) -> None:
        self._topic = topic
        self._number = 0
        self._writers = [TransactionalWriter(cluster, f"{prefix}-{i}") for i in range(count)]

    def write_interleaved(self, rounds: int, per_round: int, chance: random.Random) -> int:
        """All producers begin, write in turns, one batch each, and end in another order, one in three by an abort.

        Returns the number of records.
        """
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda writer: writer.begin(), self._writers))
        for writer in self._writers * rounds:
            writer.write(self._topic, range(self._number, self._number + per_round))
            self._number += per_round
        for writer in chance.sample(self._writers, len(self._writers)):
            writer.end(commit=chance.random() >= 1 / 3)
        return rounds * per_round * PARTITIONS * len(self._writers)


def leave_open(cluster: dict[str, object], topic: str, partition: int, transactional_id: str, count: int) -> Producer:
    """A transaction that is not ended; it stays open while the returned producer, or nobody, uses its id."""
    producer = make_producer(cluster, transactional_id=transactional_id, transaction_timeout_ms=TRANSACTION_SECONDS * 1000)
    producer.init_transactions(FLUSH_SECONDS)
    producer.begin_transaction()
    for number in range(count):
        send(producer, topic, partition, key=b"open", value=plain_text(number, partition))
    flush(producer)
    return producer


def abort_by_successor(cluster: dict[str, object], topic: str, partition: int, transactional_id: str) -> None:
    """A producer dies within a transaction and its successor's start makes the broker abort it, with a higher epoch."""
    leave_open(cluster, topic, partition, transactional_id, 5)
    successor = make_producer(cluster, transactional_id=transactional_id)
    successor.init_transactions(FLUSH_SECONDS)
    successor.begin_transaction()
    send(successor, topic, partition, key=b"successor", value=b"committed")
    successor.commit_transaction(FLUSH_SECONDS)
