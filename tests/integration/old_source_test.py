"""A source of Apache Kafka 2.1.1, under ZooKeeper, with topics of the message formats before 0.11, to a 4.4.0 destination."""

import time
import unittest

from confluent_kafka import TopicPartition

import seed_topics
from lab_test_case import LabTestCase, REQUEST_SECONDS
from log_reader import READ_UNCOMMITTED, LogReader, read_ends
from record_writers import PARTITIONS, flush, make_producer, plain_text, send

OLD_CODECS = ("none", "gzip", "snappy", "lz4")  # zstd came with format 0.11's batches
MINUTE_MS = 60_000


class OldSourceTest(LabTestCase):
    """Old brokers convert what modern clients send to the topic's format."""

    SOURCE = ["--version", "2.1.1"]

    def old_topic(self, version: str, **config: str) -> str:
        return self.create_topic(self.source, partitions=PARTITIONS, message_format_version=version, retention_ms="-1", **config)

    def producer(self, **settings: object):
        """The old formats have no place for a producer id."""
        return make_producer(self.source.client(), enable_idempotence=False, **settings)

    def fill(self, topic: str, count: int = 200) -> None:
        """Every codec of that time, null and empty keys and values included."""
        first_time = int(time.time() * 1000) - 100_000
        for codec in OLD_CODECS:
            producer = self.producer(compression_type=codec)
            for number in range(count):
                for partition in range(PARTITIONS):
                    key = (None, b"", f"{number}".encode())[number % 3]
                    value = (plain_text(number, partition), None, b"")[number % 5 % 3]
                    send(producer, topic, partition, key=key, value=value, timestamp=first_time + number)
                if number % 50 == 49:
                    flush(producer)  # several batches
            flush(producer)

    def test_topics_of_formats_0_9_and_0_10(self) -> None:
        topics = [self.old_topic("0.9.0"), self.old_topic("0.10.2"), self.old_topic("0.10.2", message_timestamp_type="LogAppendTime")]
        for topic in topics:
            self.fill(topic)
        trimmed = self.old_topic("0.10.2")
        self.fill(trimmed)
        self.trim(trimmed, (75, 321, read_ends(self.source.admin(), trimmed, [2])[2].leo))
        daemon = self.mirror([*topics, trimmed])
        for topic in topics:
            daemon.wait_records(topic)
        for topic in topics:
            self.fill(topic, 20)
        daemon.stop()
        for topic in topics:
            self.fill(topic, 10)
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [*topics, trimmed])
        self.assert_equal_topics([*topics, trimmed])
        for topic in topics:
            entry = daemon.wait_partition(topic, 0)
            self.assertEqual(entry["batches_forwarded"], 0, "an old batch was sent as it is")
            self.assertGreater(entry["batches_reencoded"], 0)

    def test_compacted_topic_of_format_0_10(self) -> None:
        topic = self.old_topic("0.10.2", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_ms=str(10 * MINUTE_MS))
        now = int(time.time() * 1000)
        for minutes, hot, own in ((-60, 50, 20), (-30, 50, 10), (0, 50, 0)):
            producer = self.producer(compression_type="gzip")
            for number in range(hot):
                for partition in range(PARTITIONS):
                    send(producer, topic, partition, key=f"hot-{number}".encode(), value=b"x", timestamp=now + minutes * MINUTE_MS)
                    if number < own:
                        send(producer, topic, partition, key=f"own-{minutes}-{number}".encode(), value=b"y", timestamp=now + minutes * MINUTE_MS)
            flush(producer)
        seed_topics.wait_for_cleaner(self.source.client(), topic, 50 + 20 + 10 + 50)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_its_own_format_with_all_codecs_and_transactions(self) -> None:
        topics = ["plain-none", "plain-gzip", "plain-snappy", "plain-lz4", "plain-zstd", "transactional", "trimmed", "append-time"]
        seed_topics.seed(self.source.client(), 150, topics)
        daemon = self.mirror(topics)
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)

    def test_timestamps_that_format_0_9_does_not_have(self) -> None:
        topic = self.old_topic("0.9.0")
        self.fill(topic, 5)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        with LogReader(self.destination.client(), READ_UNCOMMITTED) as reader:
            records = list(reader.records(topic, 0, 0, 20))
        self.assertEqual({(r.timestamp, r.timestamp_type) for r in records}, {(-1, "CreateTime")})

    def trim(self, topic: str, starts: tuple[int, ...]) -> None:
        admin = self.source.admin()
        wanted = [TopicPartition(topic, partition, start) for partition, start in enumerate(starts)]
        for future in admin.delete_records(wanted, request_timeout=REQUEST_SECONDS).values():
            future.result()


if __name__ == "__main__":
    unittest.main()
