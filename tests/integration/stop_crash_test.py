"""A failover of many topics with a daemon that dies half-way: each partition ends with one ABORT for each transaction that
was open, and one reset marker."""

import unittest

from confluent_kafka import Producer

from daemon_status import topics_of
from lab_test_case import REQUEST_SECONDS, LabTestCase
from log_reader import READ_COMMITTED, LogReader, read_ends
from mirror_cli import run_cli
from record_writers import flush, make_producer
from waiting import wait_until

TOPICS = 50
PARTITIONS = 3
RECORDS = 4
OPEN = 2               # transactions in each partition of every other topic
STOP_SECONDS = 120
FRESH_PRODUCERS = 50


class StopCrashTest(LabTestCase):
    """One mirror of all topics."""

    def open_transaction(self, topics: list[str]) -> Producer:
        """A transaction with a record in each partition of these topics."""
        producer = make_producer(self.source.client(), transactional_id=self.unique("open"), transaction_timeout_ms=600_000)
        producer.init_transactions(REQUEST_SECONDS)
        producer.begin_transaction()
        for topic in topics:
            for partition in range(PARTITIONS):
                producer.produce(topic, b"open", partition=partition)
        flush(producer)
        return producer

    def states(self, daemon) -> list[str]:
        """Of all partitions."""
        return [p["state"] for topic in topics_of(daemon.status()) for p in topic["partitions"]]

    def test_killed_half_way_through_a_failover_of_many_topics(self) -> None:
        prefix = self.unique("many")
        topics = [self.create_topic(self.source, f"{prefix}.{number}", PARTITIONS) for number in range(TOPICS)]
        writer = make_producer(self.source.client())
        for topic in topics:
            for partition in range(PARTITIONS):
                for _ in range(RECORDS):
                    writer.produce(topic, b"x", partition=partition)
        flush(writer)
        with_open = set(topics[::2])
        still_open = [self.open_transaction(sorted(with_open)) for _ in range(OPEN)]
        configuration = self.configuration([f"{prefix}\\..*"], mirror="failover")
        daemon = self.daemon(configuration).start()
        daemon.wait_mirrored(self.source.admin(), topics)

        stop = ["--stop", "--mirror", "failover", "--topics", ".*", "--yes", "--bootstrap-server", self.destination.bootstrap]
        self.assertEqual(run_cli(*stop, "--no-wait").returncode, 0)
        wait_until(lambda: self.states(daemon).count("STOPPED") >= TOPICS, "a third of the partitions to be STOPPED", STOP_SECONDS)
        left = sum(1 for state in self.states(daemon) if state != "STOPPED")
        daemon.kill()
        daemon.start()
        done = run_cli(*stop)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(f"killed with {left} of {TOPICS * PARTITIONS} partitions to go", flush=True)

        admin = self.destination.admin()
        for topic in topics:
            opened = OPEN if topic in with_open else 0
            for partition, ends in read_ends(admin, topic, list(range(PARTITIONS))).items():
                expected = RECORDS + opened + opened + 1  # records, open ones, their ABORTs, the reset marker
                self.assertEqual((ends.leo, ends.lso), (expected, expected), f"{topic}-{partition}")
                with LogReader(self.destination.client(), READ_COMMITTED) as reader:
                    self.assertEqual(len(list(reader.records(topic, partition, 0, ends.leo))), RECORDS)
        for producer in still_open:
            producer.abort_transaction(REQUEST_SECONDS)
        self.write_with_fresh_producers(topics[0])

    def write_with_fresh_producers(self, topic: str) -> None:
        """What starts after a failover knows nothing of it: each succeeds at the first attempt."""
        for number in range(FRESH_PRODUCERS):
            self.write(self.destination, topic, [b"idempotent"], message_timeout_ms=10_000)
            producer = make_producer(self.destination.client(), transactional_id=f"fresh-{number}")
            producer.init_transactions(REQUEST_SECONDS)
            producer.begin_transaction()
            producer.produce(topic, b"transactional", partition=0)
            producer.commit_transaction(REQUEST_SECONDS)


if __name__ == "__main__":
    unittest.main()
