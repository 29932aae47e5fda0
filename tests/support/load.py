#!/usr/bin/env python3
"""Goes on writing to the topics that seed_topics.py made: plain batches of every codec, interleaved transactions, keys of
a compacted topic, awkward records. Ends at SIGTERM, Ctrl-C or after --seconds, in order: all is acknowledged, all
transactions have ended but one, which stays open in partition 1.
"""

import argparse
import itertools
import random
import signal
import sys
import threading
import time

from confluent_kafka import KafkaException

import record_writers as producers
from client_options import add_cluster, cluster_settings
from seed_topics import CODECS, TOPICS
from record_writers import PARTITIONS, flush, make_producer, send

ROUNDS_PER_SECOND = 10
END_SECONDS = 150  # more than the writers' own patience


class Load:
    """Writers in threads of their own. start(), then stop(), which raises what went wrong in a writer."""

    def __init__(self, cluster: dict[str, object], rate: int = 3000, transactional_producers: int = 20,
                 topics: list[str] | None = None, name: str = "load", prefix: str = "") -> None:
        """Two loads on one cluster need a name each, since it names their transactions; `prefix` stands before the topics' names."""
        self._cluster = cluster
        self._prefix = prefix
        self._rate = rate
        self._transactional_producers = transactional_producers
        self._topics = topics or list(TOPICS)
        self._name = name
        self._stop = threading.Event()
        self._problems: list[Exception] = []
        self._counts: dict[str, int] = {}
        self._threads = [threading.Thread(target=self._run, args=(writer,), daemon=True)
                         for writer in (self._write_plain, self._write_transactions, self._write_keys, self._write_awkward)]

    def start(self) -> "Load":
        """Begins to write; returns at once."""
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> int:
        """Ends everything in order; returns the number of records written."""
        self._stop.set()
        for thread in self._threads:
            thread.join(END_SECONDS)
            if thread.is_alive():
                raise TimeoutError(f"the load did not end within {END_SECONDS} s")
        if self._problems:
            raise self._problems[0]
        return self.written()

    def written(self) -> int:
        """Records written up to now."""
        return sum(self._counts.values())

    def failed(self) -> bool:
        """Whether a writer has given up."""
        return bool(self._problems)

    def _run(self, writer) -> None:
        try:
            writer()
        except Exception as problem:  # a thread's exception would be lost: stop() raises it
            self._problems.append(problem)
            self._stop.set()

    def _pause(self) -> None:
        self._stop.wait(1 / ROUNDS_PER_SECOND)

    def _write_plain(self) -> None:
        writers = {f"plain-{codec}": make_producer(self._cluster, compression_type=codec) for codec in CODECS}
        for topic in ("trimmed", "append-time"):
            writers[topic] = make_producer(self._cluster, compression_type="lz4")
        writers = {topic: producer for topic, producer in writers.items() if topic in self._topics}
        if not writers:
            return
        each = max(1, self._rate // (ROUNDS_PER_SECOND * PARTITIONS * len(writers)))
        number = 1_000_000
        while not self._stop.is_set():
            for topic, producer in writers.items():
                producers.write_plain(producer, self._prefix + topic, number, each)
                self._counts["plain"] = self._counts.get("plain", 0) + each * PARTITIONS
            number += each
            self._pause()
        for producer in writers.values():
            flush(producer)

    def _write_transactions(self) -> None:
        if "transactional" not in self._topics:
            return
        chance = random.Random(7)
        group = producers.TransactionGroup(self._cluster, self._name, self._transactional_producers, self._prefix + "transactional")
        while not self._stop.is_set():
            written = group.write_interleaved(rounds=2, per_round=2, chance=chance)
            self._counts["transactional"] = self._counts.get("transactional", 0) + written
        producers.leave_open(self._cluster, self._prefix + "transactional", 1, f"{self._name}-open", 10)
        self._counts["transactional"] = self._counts.get("transactional", 0) + 10

    def _write_keys(self) -> None:
        if "compacted" not in self._topics:
            return
        producer = make_producer(self._cluster, compression_type="zstd")
        for number in itertools.count():
            if self._stop.is_set():
                break
            for partition in range(PARTITIONS):
                value = None if number % 11 == 0 else f"{self._name} {number}".encode()
                send(producer, self._prefix + "compacted", partition, key=f"hot-{number % 40}".encode(), value=value)
            self._counts["compacted"] = (number + 1) * PARTITIONS
            if number % 20 == 19:
                self._pause()
        flush(producer)

    def _write_awkward(self) -> None:
        if "awkward" not in self._topics:
            return
        writers = [make_producer(self._cluster, compression_type=codec) for codec in CODECS]
        for number, record in enumerate(itertools.cycle(producers.awkward_records())):
            if self._stop.is_set():
                break
            for partition in range(PARTITIONS):
                send(writers[number // 8 % len(writers)], self._prefix + "awkward", partition, **record)
            self._counts["awkward"] = (number + 1) * PARTITIONS
            if number % 8 == 7:
                self._pause()
        for producer in writers:
            flush(producer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_cluster(parser, "cluster", "the cluster")
    parser.add_argument("--topics", nargs="+", metavar="NAME", choices=list(TOPICS), help="only these (default: all)")
    parser.add_argument("--rate", type=int, default=3000, metavar="N", help="plain records a second, all partitions together (default 3000)")
    parser.add_argument("--transactional-producers", type=int, default=20, metavar="N", help="whose transactions overlap (default 20)")
    parser.add_argument("--seconds", type=float, metavar="S", help="end after this time (default: at a signal)")
    arguments = parser.parse_args()
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    load = Load(cluster_settings(arguments, "cluster"), arguments.rate, arguments.transactional_producers, arguments.topics)
    began = time.monotonic()
    load.start()
    while not asked.wait(0.2) and not load.failed():
        if arguments.seconds and time.monotonic() - began >= arguments.seconds:
            break
    try:
        written = load.stop()
    except (KafkaException, producers.WriteFailed, TimeoutError) as problem:
        print(f"load: {problem}", file=sys.stderr)
        return 1
    print(f"load: {written:,} records in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
