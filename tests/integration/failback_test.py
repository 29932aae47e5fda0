"""A switch from one cluster to the other and back with kafka-mirror, on real brokers; what stands in the way of one."""

import unittest

from confluent_kafka import Producer

from kafka_lab import Cluster
from lab_test_case import DESTINATION_OPTIONS, REQUEST_SECONDS, LabTestCase
from log_reader import read_ends
from mirror_cli import run_cli
from mirror_daemon import MirrorDaemon
from record_writers import flush, make_producer
from waiting import wait_until

ABORT_CHECK = ["--set", "transaction.abort.timed.out.transaction.cleanup.interval.ms=1000"]


class FailbackTest(LabTestCase):
    """Both clusters can be a destination. Here `source` is the first primary."""

    SOURCE = [*DESTINATION_OPTIONS, *ABORT_CHECK]

    def setUp(self) -> None:
        self.forward = self.unique("forward")
        self.back = self.unique("back")

    def mirror_forward(self, topic: str) -> MirrorDaemon:
        """A daemon that mirrors from the first cluster to the second."""
        return self.mirror([topic], mirror=self.forward)

    def mirror_back(self, topic: str) -> MirrorDaemon:
        """And one in the other direction."""
        configuration = self.configuration([topic])
        configuration["destination"] = self.source.for_daemon()
        configuration["mirrors"] = [{"name": self.back, "source": self.destination.for_daemon(), "topics.include": [topic]}]
        return self.daemon(configuration).start()

    def steer(self, action: str, mirror: str, topic: str, *more: str) -> None:
        """kafka-mirror for the cluster that the mirror writes to; it must end with 0."""
        cluster = self.destination if mirror == self.forward else self.source
        done = run_cli(f"--{action}", "--mirror", mirror, "--topics", topic, *more, "--bootstrap-server", cluster.bootstrap)
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}")

    def end_of(self, cluster: Cluster, topic: str) -> int:
        """The log end of the only partition."""
        return read_ends(cluster.admin(), topic, [0])[0].leo

    def write_transaction(self, cluster: Cluster, topic: str, commit: bool = True) -> None:
        """One of one record."""
        producer = make_producer(cluster.client(), transactional_id=self.unique("writer"))
        producer.init_transactions(REQUEST_SECONDS)
        producer.begin_transaction()
        producer.produce(topic, b"transactional", partition=0)
        flush(producer)
        if commit:
            producer.commit_transaction(REQUEST_SECONDS)
        else:
            producer.abort_transaction(REQUEST_SECONDS)

    def stop_forward(self, topic: str) -> None:
        """The failover."""
        self.steer("stop", self.forward, topic, "--yes")

    def test_a_switch_there_and_back_copies_nothing_twice(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 20)
        self.write_transaction(self.source, topic)
        self.write_transaction(self.source, topic, commit=False)
        forward = self.mirror_forward(topic)
        forward.wait_mirrored(self.source.admin(), [topic])

        back = self.mirror_back(topic)
        back.wait_error("Detected mirror loop for mirror", self.forward)
        self.stop_forward(topic)
        self.assertEqual(self.end_of(self.destination, topic), 25)  # 20 + 2 x (record, marker) + the reset marker
        back.wait_mirrored(self.destination.admin(), [topic])
        self.assert_equal_topics([topic])

        self.write(self.destination, topic, [b"on the second"] * 5)
        self.write_transaction(self.destination, topic)
        back.wait_mirrored(self.destination.admin(), [topic])
        self.assert_equal_topics([topic])
        self.assertEqual(self.end_of(self.source, topic), 32)

        self.steer("stop", self.back, topic, "--yes")
        self.write(self.source, topic, [b"on the first again"] * 3)
        self.steer("start", self.forward, topic)
        forward.wait_mirrored(self.source.admin(), [topic])
        self.assertEqual(self.end_of(self.destination, topic), 32 + 1 + 3)
        self.assert_equal_topics([topic])
        self.write(self.source, topic, [b"and on"] * 3)
        forward.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_records_that_were_not_mirrored_are_counted_and_kept(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 6)
        forward = self.mirror_forward(topic)
        forward.wait_mirrored(self.source.admin(), [topic])
        self.stop_forward(topic)
        self.write(self.source, topic, [b"not mirrored"] * 2)
        self.write(self.destination, topic, [b"on the second"])
        back = self.mirror_back(topic)
        back.wait_error(f"{topic}-0 has 2 records", self.forward, "from offset 6 to 8")
        self.assertEqual(self.end_of(self.source, topic), 8)

    def test_an_open_transaction_of_the_old_primary_is_waited_for(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 4)
        open_on_first = Producer({**self.source.client(), "transactional.id": self.unique("open"), "transaction.timeout.ms": "15000"})
        open_on_first.init_transactions(REQUEST_SECONDS)
        open_on_first.begin_transaction()
        open_on_first.produce(topic, b"open", partition=0)
        flush(open_on_first)
        forward = self.mirror_forward(topic)
        forward.wait_partition(topic, 0, state="MIRRORING", destination_end=5)
        self.stop_forward(topic)
        self.assertEqual(self.end_of(self.destination, topic), 7)  # one ABORT and the reset marker
        self.write(self.destination, topic, [b"on the second"] * 2)
        back = self.mirror_back(topic)
        back.wait_error("is open since offset 4")
        # Its coordinator aborts it after transaction.timeout.ms: the same offset as the ABORT on the second cluster.
        wait_until(lambda: self.end_of(self.source, topic) >= 6, "the end of the transaction", REQUEST_SECONDS)
        back.wait_mirrored(self.destination.admin(), [topic])
        self.assertEqual(self.end_of(self.source, topic), 9)
        self.assert_equal_topics([topic])


if __name__ == "__main__":
    unittest.main()
