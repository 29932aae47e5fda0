"""The source drops what it has: retention passes the mirror, the log start moves under load, partitions are emptied.

Afterwards both sides are equal, log starts included. What became of a transaction whose end the source no longer has may be
unknowable; then the partition is FAILED and says so, and never shows an aborted record as committed.
"""

import unittest

from confluent_kafka import TopicPartition

import seed_topics
from lab_test_case import LabTestCase, REQUEST_SECONDS
from load import Load
from log_reader import ISOLATION_LEVELS, LogReader, read_ends
from record_writers import PARTITIONS
from waiting import wait_until

RETENTION_SECONDS = 30  # the lab's brokers look for old segments every 5 s


class RetentionTest(LabTestCase):
    """One pair of clusters; each test mirrors topics of its own."""

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        """DeleteRecords on the source; -1 is the partition's end."""
        where = TopicPartition(topic, partition, offset)
        admin = self.source.admin()
        admin.delete_records([where], request_timeout=REQUEST_SECONDS)[where].result()

    def source_end(self, topic: str, partition: int = 0) -> int:
        return read_ends(self.source.admin(), topic, [partition])[partition].leo

    def test_retention_passes_a_mirror_that_is_down(self) -> None:
        topic = self.create_topic(self.source, segment_bytes=str(1 << 20), retention_bytes="1")
        daemon = self.mirror([topic])
        self.write(self.source, topic, [b"mirrored"] * 20)
        daemon.wait_partition(topic, 0, state="MIRRORING", destination_end=20)
        daemon.stop()
        self.write(self.source, topic, [bytes(1000)] * 4000)
        start = wait_until(lambda: self.started_beyond(topic, 20), "the source to drop a segment", RETENTION_SECONDS, pause=0.5)
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assertIn(f"position=20 source_start={start}", daemon.wait_log(r"warning source_log_overrun "))
        self.assert_equal_topics([topic])

    def started_beyond(self, topic: str, offset: int) -> int | None:
        """The source's log start once it lies beyond this offset and no older segment is left to drop."""
        ends = read_ends(self.source.admin(), topic, [0])[0]
        return ends.start if ends.start > offset and ends.leo - ends.start < 1100 else None

    def test_log_start_moves_step_by_step_under_load(self) -> None:
        topics = ["plain-lz4", "transactional"]
        seed_topics.seed(self.source.client(), 200, topics)
        load = Load(self.source.client(), rate=600, transactional_producers=4, topics=topics).start()
        daemon = self.mirror(topics)
        for topic in topics:
            daemon.wait_records(topic)
        admin = self.source.admin()
        for step in range(30):
            for topic in topics:
                # Most steps stay behind the mirror; every tenth goes to the very end, where the mirror may not be yet.
                where = [TopicPartition(topic, partition, -1 if step % 10 == 9 else (ends.start + ends.leo) // 2)
                         for partition, ends in read_ends(admin, topic, range(PARTITIONS)).items()]
                for future in admin.delete_records(where, request_timeout=REQUEST_SECONDS).values():
                    future.result()
        load.stop()
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)
        daemon.stop()
        self.assert_equal_topics(topics)

    def test_partitions_that_are_empty_with_an_end_above_zero(self) -> None:
        """Partition 0 was never written, 1 is emptied before the mirror starts, 2 while it runs; then all get data."""
        topic = self.create_topic(self.source, partitions=PARTITIONS)
        for partition in (1, 2):
            self.write(self.source, topic, [b"old"] * 70, partition)
        self.delete_before(topic, -1, 1)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])
        self.delete_before(topic, -1, 2)
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])
        daemon.stop()
        daemon.start()
        daemon.wait_partition(topic, 2, state="MIRRORING", lag=0)
        for partition in range(PARTITIONS):
            self.write(self.source, topic, [b"new"] * 5, partition)
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])
        self.assertEqual([self.source_end(topic, p) for p in range(PARTITIONS)], [5, 75, 75])

    def test_emptied_while_the_mirror_is_down(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"old"] * 10)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        daemon.kill()
        self.write(self.source, topic, [b"never mirrored"] * 30)
        self.delete_before(topic, -1)
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])
        self.write(self.source, topic, [b"new"] * 5)
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_log_start_of_a_compact_only_topic_is_not_followed(self) -> None:
        """Brokers take DeleteRecords only where the policy has `delete`; everything else must be equal all the same."""
        topic = self.create_topic(self.source, cleanup_policy="compact", min_compaction_lag_ms=str(seed_topics.DAY_MS))
        self.write(self.source, topic, [b"v"] * 40)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        daemon.wait_log(rf" cleanup_policy_restored .*\b{topic}\b")
        admin = self.source.admin()
        seed_topics.set_topic_config(admin, topic, cleanup_policy="compact,delete")
        wait_until(lambda: self.deletes(topic, 25), "the source to take DeleteRecords", REQUEST_SECONDS)
        seed_topics.set_topic_config(admin, topic, cleanup_policy="compact")
        self.write(self.source, topic, [b"w"] * 10)
        daemon.wait_partition(topic, 0, state="MIRRORING", destination_end=50)
        self.assertIn("source_start=25 destination_start=0", daemon.wait_log(rf"warning log_start_not_followed .*\b{topic}-0\b"))
        self.write(self.source, topic, [b"x"] * 10)
        daemon.wait_partition(topic, 0, state="MIRRORING", destination_end=60)
        source, destination = (read_ends(cluster.admin(), topic, [0])[0] for cluster in (self.source, self.destination))
        self.assertEqual((source.start, destination.start), (25, 0))
        self.assertEqual((source.leo, source.lso), (destination.leo, destination.lso))
        for isolation in ISOLATION_LEVELS:
            with LogReader(self.source.client(), isolation) as ours, LogReader(self.destination.client(), isolation) as theirs:
                self.assertEqual(*(list(reader.records(topic, 0, 25, 60)) for reader in (ours, theirs)))

    def deletes(self, topic: str, offset: int) -> bool:
        """Tries DeleteRecords, which a broker refuses until it has heard of the new policy."""
        try:
            self.delete_before(topic, offset)
        except Exception as problem:
            if "POLICY_VIOLATION" not in repr(problem):
                raise
            return False
        return True


if __name__ == "__main__":
    unittest.main()
