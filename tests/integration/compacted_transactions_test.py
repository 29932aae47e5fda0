"""Transactions whose data and end marker the source's cleaner removes while the mirror is down.

They are open on the destination then, and nothing on the source tells how they ended. What the source does not hold any
more must not become visible: neither may a later transaction of the same producer commit them, nor may they hold up
readers for ever.
"""

import subprocess
import unittest
from typing import Callable

from confluent_kafka import Producer

import seed_topics
from kafka_lab import SCRIPT
from lab_test_case import LabTestCase
from log_reader import READ_COMMITTED, LogReader, read_ends
from mirror_daemon import MirrorDaemon
from record_writers import FLUSH_SECONDS, flush, make_producer, send
from waiting import wait_until

CLEANING_SECONDS = 90
COMPACTED = {"cleanup_policy": "compact", "segment_ms": "500", "min_cleanable_dirty_ratio": "0.01", "delete_retention_ms": "0",
             "min_compaction_lag_ms": str(seed_topics.DAY_MS)}


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

    def let_clean(self, is_clean: Callable[[list[str]], bool]) -> None:
        """Waits until the cleaner has made of the transactional batches what is wanted; writes on, since it needs news to run."""
        seed_topics.set_topic_config(self._test.source.admin(), self.topic, min_compaction_lag_ms="0")
        logs = self._test.source.directory / "nodes" / "1" / "data" / f"{self.topic}-0"

        def cleaned() -> bool:
            self.plain(b"turn", "turning")
            files = ",".join(str(path) for path in sorted(logs.glob("*.log")))
            dump = subprocess.run([str(SCRIPT), "run", "dump-log", "--files", files], capture_output=True, text=True, check=False)
            if dump.returncode != 0 or "baseOffset" not in dump.stdout:  # a segment was replaced under the reader
                return False
            return is_clean([line for line in dump.stdout.splitlines() if "isTransactional: true" in line])

        wait_until(cleaned, f"the cleaner to clean {self.topic}", CLEANING_SECONDS)
        seed_topics.set_topic_config(self._test.source.admin(), self.topic, min_compaction_lag_ms=str(seed_topics.DAY_MS))


def emptied(batches: list[str]) -> bool:
    """The data is gone. A producer's last data batch stays without records, and its last marker stays."""
    return len(batches) == 2 and " count: 0 " in batches[0] and "isControl: true" in batches[1]


def gone(batches: list[str]) -> bool:
    """Only the next transaction is left: the first one has vanished, end marker and all."""
    return len(batches) == 1 and "isControl: false" in batches[0]


def aborted(story: Story) -> None:
    story.end(commit=False)
    story.let_clean(emptied)


def aborted_then_the_next_commits(story: Story) -> None:
    story.end(commit=False)
    story.begin(b"second", "kept")
    story.let_clean(gone)
    story.end(commit=True)


def committed_and_superseded(story: Story) -> None:
    story.end(commit=True)
    story.plain(b"newer", "lost")
    story.begin(b"second", "kept")
    story.let_clean(gone)
    story.end(commit=False)


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
