"""Replicas of the destination that are missing, slow, or answer for fewer markers than were asked for."""

import unittest

from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import NewTopic

from fault_kinds import HoldRequest, RewriteAnswer, RewriteRequest, Watch, error_of
from fault_test_case import FaultTestCase, marker_count
from kafka_frames import Message, is_about, markers_of
from kafka_layouts import Api
from lab_test_case import REQUEST_SECONDS, led_partitions
from leadership import leaders_of, replicas_of
from waiting import wait_until

HOLE = 200
REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND = 7, 19, 20


class ReplicationTest(FaultTestCase):
    """Three brokers, RF 3, two of three in sync wanted."""

    BROKERS = 3
    DESTINATION_SETTINGS = ["min.insync.replicas=2", "auto.leader.rebalance.enable=false"]

    def followers(self, topic: str) -> list[int]:
        """The brokers that do not lead it."""
        leader = leaders_of(self.destination.admin(), [topic])[topic, 0]
        return [broker for broker in range(1, self.BROKERS + 1) if broker != leader]

    def twin(self, topic: str) -> str:
        """A topic on the destination with the same replicas, which nobody mirrors."""
        name, admin = self.unique("twin"), self.destination.admin()
        wanted = NewTopic(name, 1, replica_assignment=[replicas_of(admin, topic)])
        admin.create_topics([wanted], request_timeout=REQUEST_SECONDS)[name].result()
        wait_until(lambda: led_partitions(admin, name), f"a leader of {name}", REQUEST_SECONDS)
        self.assertEqual(leaders_of(admin, [name])[name, 0], leaders_of(admin, [topic])[topic, 0])
        return name

    def write_is_refused(self, topic: str) -> bool:
        """Whether a record that all in-sync replicas should have is refused for want of replicas."""
        outcomes: list[KafkaError | None] = []
        producer = Producer({**self.destination.client(), "retries": 0, "request.timeout.ms": 1000, "on_delivery": lambda error, _: outcomes.append(error)})
        producer.produce(topic, b"probe", partition=0)
        producer.flush(REQUEST_SECONDS)
        return outcomes[0] is not None and outcomes[0].code() == KafkaError.NOT_ENOUGH_REPLICAS

    def test_half_of_a_request_of_filler_markers_is_refused_and_the_answer_hides_it(self) -> None:
        topic = self.mixed_topic()
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        end = self.source_end(topic)
        daemon.kill()  # so that the filler has a raised epoch, below which the broker refuses
        self.hole(topic, HOLE)
        self.mixed(topic)
        answers = self.fault(Watch(Api.WRITE_TXN_MARKERS, lambda message: marker_count(message, topic, 0) == HOLE))
        self.fault(RewriteRequest(Api.WRITE_TXN_MARKERS, lambda message: marker_count(message, topic, 0) == HOLE, lower_half))
        rest = self.fault(Watch(Api.WRITE_TXN_MARKERS, lambda message: marker_count(message, topic, 0) == HOLE // 2))
        daemon.start()
        answers.wait_fired()
        self.assertEqual(answers.codes(topic), {0})
        self.assert_recovered(daemon, topic, error=f"offset {end + HOLE // 2} where {end + HOLE} was expected")
        rest.wait_fired()
        self.assert_mirrored(daemon, [topic])

    def test_followers_are_killed_and_come_back(self) -> None:
        topic = self.mixed_topic()
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        followers = self.followers(topic)
        probe = self.twin(topic)
        answers = self.fault(Watch(Api.PRODUCE, is_about(topic, 0)))
        for broker in followers:
            self.destination.kill(broker)
        try:
            wait_until(lambda: self.write_is_refused(probe), "the leader to know that its followers are gone", REQUEST_SECONDS)
            self.batches(topic, 1)
            answers.wait_code(NOT_ENOUGH_REPLICAS, topic)
            self.assert_recovered(daemon, topic, error="NOT_ENOUGH_REPLICAS")
            daemon.wait_error("lower min.insync.replicas")
        finally:
            for broker in followers:
                self.destination.restart(broker)
        self.assert_mirrored(daemon, [topic])

    def test_followers_hang_behind_an_append_until_it_times_out(self) -> None:
        topic = self.mixed_topic()
        held = self.fault(HoldRequest(Api.PRODUCE, is_about(topic, 0), nth=3))
        answers = self.fault(Watch(Api.PRODUCE, is_about(topic, 0)))
        daemon = self.mirror([topic])
        held.wait_fired()
        followers = self.followers(topic)
        for broker in followers:
            self.destination.pause(broker)
            self.addCleanup(self.destination.resume, broker)
        held.release()
        answers.wait_code(REQUEST_TIMED_OUT, topic)
        for broker in followers:
            self.destination.resume(broker)
        self.assert_recovered(daemon, topic, error="REQUEST_TIMED_OUT")
        self.assert_mirrored(daemon, [topic])

    def test_too_few_replicas_after_an_append(self) -> None:
        topic = self.mixed_topic()
        fault = self.fault(RewriteAnswer(Api.PRODUCE, is_about(topic, 0), error_of(topic, 0, NOT_ENOUGH_REPLICAS_AFTER_APPEND), nth=4, times=3))
        daemon = self.mirror([topic])
        fault.wait_fired(3)
        self.assert_recovered(daemon, topic, error="NOT_ENOUGH_REPLICAS_AFTER_APPEND")
        self.assert_mirrored(daemon, [topic])


def lower_half(message: Message) -> None:
    """All in the first half but the first, and one more, get the epoch before their own, which the first has shut out.

    The broker tells the outcome of the last append that ends, and those that it refuses end at once: the good ones behind
    them, which wait for replicas, hide them.
    """
    markers = markers_of(message)
    for marker in markers[1:len(markers) // 2 + 1]:
        marker["producer_epoch"] -= 1


if __name__ == "__main__":
    unittest.main()
