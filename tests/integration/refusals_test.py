"""Bad input and foreign hands: a clear error that names what and where, nothing written, and nobody else affected."""

import re
import unittest

from confluent_kafka import TopicPartition

import seed_topics
from lab_test_case import LabTestCase, REQUEST_SECONDS
from log_reader import read_ends
from record_writers import PARTITIONS, leave_open

VERIFICATION = "transaction.partition.verification.enable"


class RefusalsTest(LabTestCase):
    """One pair of clusters: first somebody else writes to a mirrored partition, then the configuration, or what it points to, is wrong."""

    def mirrored_topic(self, **settings: object):
        """A topic of three partitions with 20 records each, mirrored."""
        topic = self.create_topic(self.source, partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            self.write(self.source, topic, [b"ours"] * 20, partition)
        daemon = self.mirror([topic], **settings)
        daemon.wait_mirrored(self.source.admin(), [topic])
        return topic, daemon

    def check_failed(self, topic: str, daemon, offsets: tuple[str, str]) -> None:
        """Partition 1 has failed with both offsets in /status and in the log; the others go on."""
        entry = daemon.wait_partition(topic, 1, state="FAILED")
        message = entry["last_error"]["message"]
        for offset in offsets:
            self.assertRegex(message, rf"\b{offset}\b")
        self.assertEqual(entry["last_error"]["code"], "foreign_write")
        line = daemon.wait_log(rf"error partition_failed .*\b{topic}-1\b")
        for offset in offsets:
            self.assertRegex(line, rf"\b{offset}\b")
        for partition in (0, 2):
            self.write(self.source, topic, [b"goes on"] * 10, partition)
            daemon.wait_partition(topic, partition, state="MIRRORING", destination_end=30)
        self.assertEqual(daemon.wait_partition(topic, 1)["state"], "FAILED")

    def test_foreign_write_is_found_by_the_audit_while_the_source_is_idle(self) -> None:
        topic, daemon = self.mirrored_topic()
        self.write(self.destination, topic, [b"foreign"], 1)
        self.check_failed(topic, daemon, ("21", "20"))
        with self.assertRaisesRegex(AssertionError, r"offset 20: record: 'missing' \| 'present'"):
            self.assert_equal_topics([topic])

    def test_foreign_write_is_found_by_the_next_append(self) -> None:
        topic, daemon = self.mirrored_topic(mirror_metadata_refresh_interval_ms="10m")
        self.write(self.destination, topic, [b"foreign"] * 3, 1)
        self.write(self.source, topic, [b"ours again"] * 5, 1)
        self.check_failed(topic, daemon, ("23", "20"))

    def test_foreign_write_is_found_at_the_next_start(self) -> None:
        topic, daemon = self.mirrored_topic()
        daemon.stop()
        self.write(self.destination, topic, [b"foreign"] * 2, 1)
        daemon.start()
        self.check_failed(topic, daemon, ("22", "20"))

    def topic_with_data(self, count: int = 10) -> str:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"data"] * count)
        return topic

    def assert_absent(self, topic: str) -> None:
        self.assertNotIn(topic, self.destination.admin().list_topics(timeout=REQUEST_SECONDS).topics)

    def test_unknown_key(self) -> None:
        daemon = self.daemon(f"destination:\n  bootstrap.servers: {self.destination.bootstrap}\n"
                             f"mirrors:\n  - name: m\n    source:\n      bootstrap.servers: {self.source.bootstrap}\n"
                             "    topic.include: [a]\nhole.fill.maxx: 5\n").start()
        self.assertNotEqual(daemon.wait_exit(), 0)
        for line, key, nearest in ((7, "topic.include", "topics.include"), (8, "hole.fill.maxx", "hole.fill.max")):
            found = [text for text in daemon.log().splitlines() if re.search(rf"\b{key}\b", text)]
            self.assertTrue(found, daemon.log())
            self.assertRegex(found[0], rf":{line}\b|line {line}\b")
            self.assertRegex(found[0], rf"\b{nearest}\b")

    def test_missing_key(self) -> None:
        daemon = self.daemon(f"destination:\n  bootstrap.servers: {self.destination.bootstrap}\n"
                             "mirrors:\n  - name: m\n    topics.include: [a]\n").start()
        self.assertNotEqual(daemon.wait_exit(), 0)
        self.assertIn("source", daemon.log())

    def test_source_that_comes_later(self) -> None:
        topic = self.topic_with_data()
        self.source.kill()
        restarted = False
        try:
            daemon = self.mirror([topic])
            error = daemon.wait_error(re.escape(self.source.bootstrap.split(":")[1]))
            self.assertIn("source", error)
            daemon.wait_log(f"warning .*{self.source.bootstrap.split(':')[1]}")
            self.assert_absent(topic)
            self.source.restart()
            restarted = True
            daemon.wait_mirrored(self.source.admin(), [topic])
            self.assert_equal_topics([topic])
        finally:
            if not restarted:
                self.source.restart()

    def test_unknown_topic_is_named_and_the_others_are_mirrored(self) -> None:
        known, unknown = self.topic_with_data(), self.unique("unknown")
        daemon = self.mirror([known, unknown])
        daemon.wait_log(rf"warning .*\b{unknown}\b")
        daemon.wait_mirrored(self.source.admin(), [known])
        self.assert_absent(unknown)
        self.assertNotIn(unknown, self.source.admin().list_topics(timeout=REQUEST_SECONDS).topics)

    def test_destination_topic_with_other_content_is_refused_and_untouched(self) -> None:
        topic, other = self.topic_with_data(), self.topic_with_data()
        self.create_topic(self.destination, topic, retention_ms="123456789")
        self.write(self.destination, topic, [b"somebody else's"] * 3)
        daemon = self.mirror([topic, other])
        error = daemon.wait_error(rf"\b{topic}\b")
        self.assertRegex(error, r"\b3\b")
        daemon.wait_log(rf"error topic_failed .*\b{topic}\b")
        daemon.wait_mirrored(self.source.admin(), [other])
        ends = read_ends(self.destination.admin(), topic, [0])[0]
        self.assertEqual((ends.start, ends.leo), (0, 3))
        self.assertIn("retention.ms=123456789", self.destination.tool("topics", "--describe", "--topic", topic))

    def test_missing_broker_setting_is_named_with_its_command_and_recovered_from(self) -> None:
        topic = self.create_topic(self.source)
        leave_open(self.source.client(), topic, 0, self.unique("id"), 5)
        self.addCleanup(self.set_verification, "false")
        self.set_verification("true")
        daemon = self.mirror([topic])
        error = daemon.wait_error(VERIFICATION, "kafka-configs")
        daemon.wait_log(rf"warning .*{VERIFICATION}=false")
        self.assert_absent(topic)
        self.run_advice(error)
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_leading_gap_above_the_limit(self) -> None:
        topic = self.topic_with_data(300)
        self.trim(topic, 250)
        small = self.topic_with_data()
        daemon = self.mirror([topic, small], hole_fill_max=200)
        self.check_limit(daemon, topic, "250")
        daemon.wait_mirrored(self.source.admin(), [small])
        self.assertEqual(read_ends(self.destination.admin(), topic, [0])[0].leo, 0)

    def test_compacted_hole_above_the_limit(self) -> None:
        topic = self.create_topic(self.source, partitions=PARTITIONS, **seed_topics.TOPICS["compacted"])
        seed_topics.seed_compacted(self.source.client(), topic, 1000)
        daemon = self.mirror([topic], hole_fill_max=20)
        self.check_limit(daemon, topic, "20")
        self.assertEqual(read_ends(self.destination.admin(), topic, [0])[0].leo, 0)

    def check_limit(self, daemon, topic: str, size: str) -> None:
        """The partition has failed because of hole.fill.max."""
        entry = daemon.wait_partition(topic, 0, state="FAILED")
        self.assertEqual(entry["last_error"]["code"], "limit_exceeded")
        self.assertIn("hole.fill.max", entry["last_error"]["message"])
        self.assertRegex(entry["last_error"]["message"], rf"\b{size}\b")
        daemon.wait_log(rf"error partition_failed .*\b{topic}-0\b")

    def trim(self, topic: str, start: int) -> None:
        where = TopicPartition(topic, 0, start)
        admin = self.source.admin()
        admin.delete_records([where], request_timeout=REQUEST_SECONDS)[where].result()

    def set_verification(self, value: str) -> None:
        self.destination.tool("configs", "--alter", "--entity-type", "brokers", "--entity-default", "--add-config", f"{VERIFICATION}={value}")

    def run_advice(self, error: str) -> None:
        """Does what the error says, word for word."""
        words = error[error.index("kafka-configs"):].split()
        address = words.index("--bootstrap-server")
        self.assertEqual(words[address + 1], self.destination.bootstrap)
        self.destination.tool("configs", *words[1:address], *words[address + 2:])


    def test_a_write_while_no_daemon_was_watching_is_found_at_the_next_start(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 5)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        daemon.kill()
        self.write(self.destination, topic, [b"by somebody else"])
        self.write(self.source, topic, [b"x"] * 3)
        daemon.start()
        daemon.wait_error(f"{topic}-0", "ends with offset 5", "differs")
        self.assertEqual(read_ends(self.destination.admin(), topic, [0])[0].leo, 6)

if __name__ == "__main__":
    unittest.main()
