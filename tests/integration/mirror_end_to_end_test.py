"""Topics of every awkward kind, mirrored under load between two stock clusters, read by clients that are not ours."""

import unittest

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import NewPartitions

import seed_topics
from lab_test_case import LabTestCase, REQUEST_SECONDS
from load import Load
from log_reader import ISOLATION_LEVELS, READ_UNCOMMITTED, LogReader, read_ends
from record_writers import PARTITIONS
from waiting import wait_until


class MirrorEndToEndTest(LabTestCase):
    """One pair of clusters; each test mirrors topics of its own."""

    def test_topics_of_every_kind_stay_equal_under_load_and_across_an_orderly_restart(self) -> None:
        seed_topics.seed(self.source.client(), 200)
        topics = list(seed_topics.TOPICS)
        load = Load(self.source.client(), rate=1500, transactional_producers=8).start()
        daemon = self.mirror(topics)
        daemon.wait_records("transactional")
        daemon.stop()
        written = load.written()
        wait_until(lambda: load.failed() or load.written() > written + 1000, "records to be written while no daemon runs")
        daemon.start()
        for topic in topics:
            daemon.wait_records(topic)
        load.stop()
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)
        daemon.stop()
        self.assert_equal_topics(topics)

    def test_a_restart_without_any_news_writes_nothing(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 100)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        daemon.stop()
        daemon.start()
        entry = daemon.wait_partition(topic, 0, state="MIRRORING", lag=0)
        self.assertEqual((entry["records"], entry["filler"], entry["destination_end"]), (0, 0, 100))
        self.assert_equal_topics([topic])

    def test_a_large_leading_gap_is_filled_and_trimmed(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"y"] * 60_000, compression_type="zstd")
        admin = self.source.admin()
        admin.delete_records([TopicPartition(topic, 0, 59_990)], request_timeout=REQUEST_SECONDS)[TopicPartition(topic, 0)].result()
        daemon = self.mirror([topic])
        daemon.wait_mirrored(admin, [topic])
        self.assertEqual(read_ends(self.destination.admin(), topic, [0])[0].start, 59_990)
        self.assert_equal_topics([topic])

    def test_a_consumer_that_waits_at_the_end_sees_no_filler_of_an_overrun(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"before"] * 50)
        daemon = self.mirror([topic])
        admin = self.source.admin()
        daemon.wait_mirrored(admin, [topic])
        daemon.stop()
        # What is written and deleted now, no mirror can have: 450 offsets that must exist all the same.
        self.write(self.source, topic, [b"lost"] * 450)
        admin.delete_records([TopicPartition(topic, 0, 500)], request_timeout=REQUEST_SECONDS)[TopicPartition(topic, 0)].result()
        self.write(self.source, topic, [b"after"] * 20)
        waiting = [self.waiting_consumer(topic, level, 50) for level in ISOLATION_LEVELS]
        daemon.start()
        daemon.wait_mirrored(admin, [topic])
        for consumer in waiting:
            self.assertEqual(self.received(consumer, until=519), [(offset, b"after") for offset in range(500, 520)])
        self.assert_equal_topics([topic])

    def test_a_consumer_that_waits_sees_no_filler_of_a_compacted_hole(self) -> None:
        topic = self.create_topic(self.source, partitions=PARTITIONS, **seed_topics.TOPICS["compacted"])
        seed_topics.seed_compacted(self.source.client(), topic, 400)
        self.create_topic(self.destination, topic, PARTITIONS)
        waiting = self.waiting_consumer(topic, READ_UNCOMMITTED, 0)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        ends = read_ends(self.source.admin(), topic, [0])[0]
        with LogReader(self.source.client(), READ_UNCOMMITTED) as reader:
            expected = [(record.offset, record.value) for record in reader.records(topic, 0, 0, ends.leo)]
        self.assertLess(len(expected), ends.leo, "the source has no holes")
        self.assertEqual(self.received(waiting, until=expected[-1][0]), expected)
        self.assert_equal_topics([topic])

    def test_new_topics_and_partitions_are_found(self) -> None:
        prefix = self.unique("found")
        first = self.create_topic(self.source, f"{prefix}-first")
        daemon = self.mirror([f"{prefix}-.*"])
        daemon.wait_partition(first, 0, state="MIRRORING")
        second = self.create_topic(self.source, f"{prefix}-second")
        admin = self.source.admin()
        admin.create_partitions([NewPartitions(first, 3)], request_timeout=REQUEST_SECONDS)[first].result()
        for topic, partition in ((second, 0), (first, 2), (first, 0)):
            daemon.wait_partition(topic, partition, state="MIRRORING")
            self.write(self.source, topic, [b"new"] * 10, partition)
        daemon.wait_mirrored(admin, [first, second])
        self.assert_equal_topics([first, second])

    def waiting_consumer(self, topic: str, isolation: str, offset: int) -> Consumer:
        """A consumer of the destination that has reached the end and waits there for what comes."""
        consumer = Consumer({**self.destination.client(), "group.id": "waiting", "isolation.level": isolation,
                             "enable.auto.commit": False, "auto.offset.reset": "earliest", "enable.partition.eof": True})
        self.addCleanup(consumer.close)
        consumer.list_topics(topic, timeout=REQUEST_SECONDS)
        consumer.assign([TopicPartition(topic, 0, offset)])

        def at_end() -> bool:
            message = consumer.poll(0.5)
            return message is not None and message.error() is not None and message.offset() == offset

        wait_until(at_end, "the consumer to reach the end", REQUEST_SECONDS)
        return consumer

    def received(self, consumer: Consumer, until: int) -> list[tuple[int, bytes]]:
        """All that a consumer gets up to this offset."""
        got: list[tuple[int, bytes]] = []

        def complete() -> bool:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                got.append((message.offset(), message.value()))
            return bool(got) and got[-1][0] >= until

        wait_until(complete, f"the consumer to receive offset {until}", REQUEST_SECONDS, pause=0)
        return got


if __name__ == "__main__":
    unittest.main()
