"""Every row of the error table: the daemon meets the code in answers of a real destination, and does what the row says."""

import re
import unittest

from confluent_kafka.admin import NewTopic
from crc32c import crc32c

from error_rows import ErrorRow, read_rows
from fault_kinds import Refuse, RewriteAnswer, RewriteRequest, Watch, error_of
from fault_test_case import FaultTestCase
from faults import Fault
from kafka_frames import Message, is_about
from kafka_layouts import Api
from lab_test_case import REQUEST_SECONDS, led_partitions
from mirror_daemon import MirrorDaemon
from record_writers import FLUSH_SECONDS, flush, send
from waiting import wait_until

# How the code comes, one partition for each: the broker has acted and its answer is changed, or it never sees the request.
WRITE_WAYS = ("append answered", "append refused", "marker answered", "marker refused")
WAYS = (*WRITE_WAYS, "log end answered")
RECORDS = 3
INVALID_PRODUCER_ID_MAPPING = 49
# Where they stand in a record batch (Kafka's format 2); the checksum is over all from the attributes on.
CHECKSUM, ATTRIBUTES, PRODUCER_ID = 17, 21, 43
TRANSACTIONAL = 0x10  # an attribute


class ErrorTableTest(FaultTestCase):
    """A topic for each row, with a partition for each way; all mirrored at once."""

    REQUEST_TIMEOUT = "20s"  # all these topics are created in one go, and no answer is lost here

    def test_every_row(self) -> None:
        rows = {row.name.replace("_", "-"): row for row in read_rows()}
        self.create_topics(list(rows))
        self.write_everywhere(list(rows))
        writes = self.add_faults(rows, WRITE_WAYS)
        daemon = self.mirror(list(rows))
        self.check_rows(daemon, rows, writes)
        # The audit reads the log's end every refresh. At the start others than the loop of the partition may read it too.
        for topic in rows:
            daemon.wait_partition(topic, WAYS.index("log end answered"), state="MIRRORING", lag=0)
        self.check_rows(daemon, rows, self.add_faults(rows, ("log end answered",)))
        going_on = [topic for topic, row in rows.items() if row.consequence != "fail_partition"]
        daemon.wait_mirrored(self.source.admin(), going_on)
        # What had to stop has done no harm: it goes on at the next start.
        daemon.stop()
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), list(rows))
        self.assert_equal_topics(list(rows))

    def test_two_transactional_producers_in_one_request(self) -> None:
        """The broker refuses the whole request, plain batches included; the daemon groups anew and goes on."""
        topics = [self.mixed_topic() for _ in range(3)]
        foreign = self.create_topic(self.destination)
        answers = [self.fault(Watch(Api.PRODUCE, is_about(topic, 0))) for topic in topics]
        fault = self.fault(RewriteRequest(Api.PRODUCE, lambda message: is_transactional(message) and is_about(topics[0], 0)(message),
                                          lambda message: add_another_producer(message, foreign)))
        daemon = self.mirror(topics)
        fault.wait_fired()
        answers[0].wait_code(INVALID_PRODUCER_ID_MAPPING, topics[0])
        self.assert_recovered(daemon, topics[0], error="INVALID_PRODUCER_ID_MAPPING")
        self.assert_mirrored(daemon, topics)

    def add_faults(self, rows: dict[str, ErrorRow], ways: tuple[str, ...]) -> dict[tuple[str, int], Fault]:
        """For each row a fault of each of these ways, by topic and partition."""
        return {(topic, WAYS.index(way)): self.fault(self.make_fault(topic, WAYS.index(way), row.code)) for topic, row in rows.items() for way in ways}

    def check_rows(self, daemon: MirrorDaemon, rows: dict[str, ErrorRow], faults: dict[tuple[str, int], Fault]) -> None:
        for (topic, partition), fault in faults.items():
            with self.subTest(topic, way=WAYS[partition]):
                fault.wait_fired()
                self.check_row(daemon, topic, partition, rows[topic])

    def make_fault(self, topic: str, partition: int, code: int) -> Fault:
        about, where = is_about(topic, partition), (topic, partition)
        return {
            "append answered": lambda: RewriteAnswer(Api.PRODUCE, about, error_of(*where, code), nth=2),
            "append refused": lambda: Refuse(Api.PRODUCE, about, code, where, nth=2),
            "marker answered": lambda: RewriteAnswer(Api.WRITE_TXN_MARKERS, about, error_of(*where, code)),
            "marker refused": lambda: Refuse(Api.WRITE_TXN_MARKERS, about, code, where),
            "log end answered": lambda: RewriteAnswer(Api.OFFSET_FOR_LEADER_EPOCH, about, error_of(*where, code)),
        }[WAYS[partition]]()

    def create_topics(self, topics: list[str]) -> None:
        admin = self.source.admin()
        wanted = [NewTopic(topic, len(WAYS), replication_factor=1) for topic in topics]
        for future in admin.create_topics(wanted, request_timeout=REQUEST_SECONDS).values():
            future.result()
        wait_until(lambda: all(led_partitions(admin, topic) == len(WAYS) for topic in topics), "leaders of all topics", REQUEST_SECONDS)

    def write_everywhere(self, topics: list[str]) -> None:
        """In each partition of each topic two plain batches, a transaction of two batches, and one more plain batch."""
        for producer, rounds in ((self.plain_producer, 2), (self.transactional_producer, 2), (self.plain_producer, 1)):
            if producer is self.transactional_producer:
                producer.begin_transaction()
            for _ in range(rounds):
                for topic in topics:
                    for partition in range(len(WAYS)):
                        for _ in range(RECORDS):
                            send(producer, topic, partition, value=self.unique("value").encode())
                flush(producer)
            if producer is self.transactional_producer:
                producer.commit_transaction(FLUSH_SECONDS)

    def check_row(self, daemon: MirrorDaemon, topic: str, partition: int, row: ErrorRow) -> None:
        """The log names the code with its advice; a partition that must fail is FAILED and says so on /status."""
        event = "error partition_failed" if row.consequence == "fail_partition" else "(info|warning) partition_retries"
        told = rf"{row.name.upper()} \({row.code}\)" + advice_pattern(row.advice)
        daemon.wait_log(rf"{event} partition={topic}-{partition} .*{told}")
        if row.consequence == "fail_partition":
            entry = daemon.wait_partition(topic, partition, state="FAILED", retry_attempt=-1)
            self.assertRegex(entry["last_error"]["message"], told)
        else:
            self.assertNotIn(f"partition_failed partition={topic}-{partition} ", daemon.log())


def advice_pattern(advice: str) -> str:
    """What the advice of a row looks like in a message, with any names in place of those that the daemon knows."""
    parts = [re.escape(part) for part in re.split(r"<destination>|<daemon>", advice)]
    return "; " + r"\S+".join(parts) if advice else ""


def is_transactional(message: Message) -> bool:
    """Of a Produce request."""
    return message["transactional_id"] is not None


def add_another_producer(message: Message, topic: str) -> None:
    """Adds a copy of a transactional batch in the request, by the next producer id, for another topic."""
    batches = (partition["records"] for entry in message["topics"] for partition in entry["partitions"])
    batch = bytearray(next(b for b in batches if int.from_bytes(b[ATTRIBUTES:ATTRIBUTES + 2]) & TRANSACTIONAL))
    batch[PRODUCER_ID:PRODUCER_ID + 8] = (int.from_bytes(batch[PRODUCER_ID:PRODUCER_ID + 8]) + 1).to_bytes(8)
    batch[CHECKSUM:CHECKSUM + 4] = crc32c(batch[ATTRIBUTES:]).to_bytes(4)
    message["topics"].append({"name": topic, "partitions": [{"index": 0, "records": bytes(batch), "tags": []}], "tags": []})


if __name__ == "__main__":
    unittest.main()
