"""Every row of the error table: the daemon meets the code in answers of a real destination, and does what the row says."""

import re
import unittest
from typing import Sequence

from crc32c import crc32c

from error_rows import ErrorRow, read_rows
from fault_kinds import Refuse, RewriteAnswer, RewriteRequest, Watch, error_of
from fault_test_case import FaultTestCase
from faults import Fault
from kafka_frames import Message, is_about
from kafka_layouts import Api
from mirror_cli import run_cli
from mirror_daemon import MirrorDaemon
from record_writers import FLUSH_SECONDS, flush, send

# How the code comes: the broker has acted and its answer is changed, or it never sees the request.
WRITE_WAYS = ("append-answered", "append-refused", "marker-answered", "marker-refused")
READ_WAY = "log-end-answered"
BUSY_SECONDS = 120  # all partitions begin at once
LOG_SECONDS = 10
RECORDS = 3
INVALID_PRODUCER_ID_MAPPING = 49
# Where they stand in a record batch (Kafka's format 2); the checksum is over all from the attributes on.
CHECKSUM, ATTRIBUTES, PRODUCER_ID = 17, 21, 43
TRANSACTIONAL = 0x10  # an attribute


class ErrorTableTest(FaultTestCase):
    """A topic for each way, with a partition for each row; all mirrored at once."""

    REQUEST_TIMEOUT = "20s"  # no answer is lost here

    def test_every_row(self) -> None:
        rows, ways = read_rows(), [*WRITE_WAYS, READ_WAY]
        for way in ways:
            self.create_topic(self.source, way, partitions=len(rows))
        self.write_everywhere(ways, len(rows))
        writes = self.add_faults(rows, WRITE_WAYS)
        daemon = self.mirror(ways, log_level="debug")  # a third failure in a row, behind a leader that was not there yet, is told to developers only
        self.check_rows(daemon, rows, writes)
        # The audit reads the log's end every refresh. At the start others than the loop of the partition may read it too.
        for partition in range(len(rows)):
            daemon.wait_partition(READ_WAY, partition, state="MIRRORING", lag=0)
        self.check_rows(daemon, rows, self.add_faults(rows, [READ_WAY]))
        for way in ways:
            for partition, row in enumerate(rows):
                if row.consequence != "fail_partition":
                    daemon.wait_partition(way, partition, state="MIRRORING", lag=0)
        # What had to stop has done no harm: it stays FAILED over a restart, and goes on when a person says so.
        daemon.stop()
        daemon.start()
        for way in ways:
            for partition, row in enumerate(rows):
                if row.consequence == "fail_partition":
                    daemon.wait_partition(way, partition, state="FAILED", retry_attempt=-1)
        mirror = daemon.status()["mirrors"][0]["name"]
        recovered = run_cli("--recover", "--mirror", mirror, "--topics", ".*", "--bootstrap-server", self.destination.bootstrap)
        self.assertEqual(recovered.returncode, 0, recovered.stdout + recovered.stderr)
        daemon.wait_mirrored(self.source.admin(), ways)
        self.assert_equal_topics(ways)

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

    def add_faults(self, rows: list[ErrorRow], ways: Sequence[str]) -> dict[tuple[str, int], Fault]:
        """For each row a fault of each of these ways, by topic and partition."""
        return {(way, partition): self.fault(self.make_fault(way, partition, row.code)) for way in ways for partition, row in enumerate(rows)}

    def make_fault(self, way: str, partition: int, code: int) -> Fault:
        about, where = is_about(way, partition), (way, partition)
        return {
            "append-answered": lambda: RewriteAnswer(Api.PRODUCE, about, error_of(*where, code), nth=2),
            "append-refused": lambda: Refuse(Api.PRODUCE, about, code, where, nth=2),
            "marker-answered": lambda: RewriteAnswer(Api.WRITE_TXN_MARKERS, about, error_of(*where, code)),
            "marker-refused": lambda: Refuse(Api.WRITE_TXN_MARKERS, about, code, where),
            READ_WAY: lambda: RewriteAnswer(Api.OFFSET_FOR_LEADER_EPOCH, about, error_of(*where, code)),
        }[way]()

    def write_everywhere(self, topics: list[str], partitions: int) -> None:
        """In each partition of each topic two plain batches, a transaction of two batches, and one more plain batch."""
        for producer, rounds in ((self.plain_producer, 2), (self.transactional_producer, 2), (self.plain_producer, 1)):
            if producer is self.transactional_producer:
                producer.begin_transaction()
            for _ in range(rounds):
                for topic in topics:
                    for partition in range(partitions):
                        for _ in range(RECORDS):
                            send(producer, topic, partition, value=self.unique("value").encode())
                flush(producer)
            if producer is self.transactional_producer:
                producer.commit_transaction(FLUSH_SECONDS)

    def check_rows(self, daemon: MirrorDaemon, rows: list[ErrorRow], faults: dict[tuple[str, int], Fault]) -> None:
        for (way, partition), fault in faults.items():
            with self.subTest(rows[partition].name, way=way):
                fault.wait_fired(seconds=BUSY_SECONDS)
                self.check_row(daemon, way, partition, rows[partition])

    def check_row(self, daemon: MirrorDaemon, topic: str, partition: int, row: ErrorRow) -> None:
        """The log names the code with its advice; a partition that must fail is FAILED and says so on /status."""
        event = "error partition_failed" if row.consequence == "fail_partition" else "(debug|info|warning) partition_retries"
        told = rf"{row.name.upper()} \({row.code}\)" + advice_pattern(row.advice)
        daemon.wait_log(rf"{event} partition={topic}-{partition} .*{told}", LOG_SECONDS)
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
