"""Transactions whose data and end marker the source's cleaner removes while the mirror is down.

They are open on the destination then, and nothing on the source tells how they ended. What the source does not hold any
more must not become visible: neither may a later transaction of the same producer commit them, nor may they hold up
readers for ever.
"""

import re
import subprocess
import unittest
from typing import Callable, NamedTuple

from confluent_kafka import Producer

import seed_topics
from kafka_lab import SCRIPT
from lab_test_case import LabTestCase
from log_reader import READ_COMMITTED, LogReader, read_ends
from mirror_daemon import MirrorDaemon
from record_writers import FLUSH_SECONDS, flush, make_producer, send
from waiting import NotYet, wait_until

CLEANING_SECONDS = 60
COMPACTED = {"cleanup_policy": "compact", "segment_ms": "500", "min_cleanable_dirty_ratio": "0.01", "delete_retention_ms": "0",
             "min_compaction_lag_ms": str(seed_topics.DAY_MS)}


TRANSACTIONAL_BATCH = re.compile(r"baseOffset: (\d+) .* count: (\d+) .* isTransactional: true isControl: (true|false)")


class Batch(NamedTuple):
    """A transactional batch, as the source's log holds it."""

    base_offset: int
    records: int
    is_control: bool


class Story:
    """A topic with one transactional producer, whose first transaction is open on both sides when the mirror goes down."""

    def __init__(self, test: "CompactedTransactionsTest", name: str) -> None:
        self._test = test
        self.topic = test.create_topic(test.source, test.unique(name), **COMPACTED)
        test.write(test.source, self.topic, [b"before"])
        self.producer: Producer = make_producer(test.source.client(), transactional_id=self.topic)
        self.producer.init_transactions(FLUSH_SECONDS)
        self.begin(b"first", "lost")
        self.mirrored_end = read_ends(test.source.admin(), self.topic, [0])[0].leo

    def begin(self, value: bytes, *keys: str) -> None:
        """A transaction with a record for each key."""
        self.producer.begin_transaction()
        for key in keys:
            send(self.producer, self.topic, 0, key=key.encode(), value=value)
        flush(self.producer)

    def end(self, commit: bool) -> None:
        (self.producer.commit_transaction if commit else self.producer.abort_transaction)(FLUSH_SECONDS)

    def plain(self, value: bytes, *keys: str) -> None:
        """Records of another producer."""
        producer = make_producer(self._test.source.client())
        for key in keys:
            send(producer, self.topic, 0, key=key.encode(), value=value)
        flush(producer)

    def let_clean(self, is_clean: Callable[[list[Batch]], bool]) -> None:
        """Waits until the cleaner has made of the transactional batches what is wanted; writes on, since it needs news to run."""
        seed_topics.set_topic_config(self._test.source.admin(), self.topic, min_compaction_lag_ms="0")
        # All cleaned segments become one. The others are replaced and removed while one looks.
        first_segment = self._test.source.directory / "nodes" / "1" / "data" / f"{self.topic}-0" / f"{0:020}.log"

        def cleaned() -> bool:
            self.plain(b"turn", "turning")
            dump = subprocess.run([str(SCRIPT), "run", "dump-log", "--files", str(first_segment)], capture_output=True, text=True, check=True)
            batches = [Batch(int(found[1]), int(found[2]), found[3] == "true") for found in TRANSACTIONAL_BATCH.finditer(dump.stdout)]
            if not is_clean(batches):
                raise NotYet(f"{batches}")
            return True

        wait_until(cleaned, f"the cleaner to clean {self.topic}", CLEANING_SECONDS)
        seed_topics.set_topic_config(self._test.source.admin(), self.topic, min_compaction_lag_ms=str(seed_topics.DAY_MS))

    def emptied(self, batches: list[Batch]) -> bool:
        """The data is gone. A producer's last data batch stays without records, and its last marker stays."""
        return [(batch.records, batch.is_control) for batch in batches] == [(0, False), (1, True)]

    def gone(self, batches: list[Batch]) -> bool:
        """Only the second transaction is left: the first one has vanished, end marker and all."""
        return [batch.is_control for batch in batches] == [False, True] and batches[0].base_offset > self.mirrored_end


def aborted(story: Story) -> None:
    story.end(commit=False)
    story.let_clean(story.emptied)


def aborted_then_the_next_commits(story: Story) -> None:
    story.end(commit=False)
    story.begin(b"second", "kept")
    story.end(commit=True)
    story.let_clean(story.gone)


def committed_and_superseded(story: Story) -> None:
    story.end(commit=True)
    story.plain(b"newer", "lost")
    story.begin(b"second", "kept")
    story.end(commit=False)
    story.let_clean(story.gone)


STORIES = (aborted, aborted_then_the_next_commits, committed_and_superseded)


class CompactedTransactionsTest(LabTestCase):
    """One pair of clusters. All stories at once, a topic each, for each way in which a mirror goes down."""

    SOURCE = ["--set", "log.cleaner.backoff.ms=200"]

    def play(self, down) -> None:
        told = [(tell, Story(self, tell.__name__.replace("_", "-"))) for tell in STORIES]
        topics = [story.topic for _, story in told]
        daemon = self.mirror(topics)
        for _, story in told:
            daemon.wait_partition(story.topic, 0, state="MIRRORING", destination_end=story.mirrored_end)
        down(daemon)
        for tell, story in told:
            tell(story)
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), topics)
        for topic in topics:
            with self.subTest(topic=topic):
                self.assert_readers_see_the_same(topic)
        for tell, story in told:
            story.begin(b"later", "later")
            story.end(commit=True)
        daemon.wait_mirrored(self.source.admin(), topics)
        for topic in topics:
            with self.subTest(topic=topic, after="another transaction"):
                self.assert_readers_see_the_same(topic)

    def assert_readers_see_the_same(self, topic: str) -> None:
        """Equal ends, nothing that holds readers up, and the same latest record of each key for readers of committed data."""
        source, destination = (read_ends(cluster.admin(), topic, [0])[0] for cluster in (self.source, self.destination))
        self.assertEqual(source.leo, destination.leo)
        self.assertEqual(destination.lso, destination.leo, "a transaction is open for ever")
        seen = []
        for cluster, ends in ((self.source, source), (self.destination, destination)):
            with LogReader(cluster.client(), READ_COMMITTED) as reader:
                seen.append({record.key: (record.offset, record.value) for record in reader.records(topic, 0, ends.start, ends.lso)})
        self.assertEqual(seen[0], seen[1])

    def test_after_an_orderly_stop(self) -> None:
        self.play(MirrorDaemon.stop)

    def test_after_a_kill(self) -> None:
        self.play(MirrorDaemon.kill)


if __name__ == "__main__":
    unittest.main()
