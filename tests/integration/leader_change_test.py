"""Leaders of the destination that move, and refuse, while requests and answers are on their way."""

import unittest

from fault_kinds import HoldAnswer, HoldRequest, RewriteRequest, Watch
from fault_test_case import RECORDS_PER_BATCH, FaultTestCase
from kafka_frames import Message, is_about, partitions_of
from kafka_layouts import Api
from leadership import leaders_of

NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 6, 74, 75


class LeaderChangeTest(FaultTestCase):
    """Three brokers, RF 3, two of three in sync wanted."""

    BROKERS = 3
    REQUEST_TIMEOUT = "30s"  # the moves take their time; nothing is given up meanwhile
    DESTINATION_SETTINGS = ["min.insync.replicas=2", "auto.leader.rebalance.enable=false"]

    def test_requests_are_held_while_the_leader_moves_away(self) -> None:
        data, marker = topics = [self.mixed_topic() for _ in range(2)]
        held = [self.fault(HoldRequest(Api.PRODUCE, is_about(data, 0), nth=3)), self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, is_about(marker, 0)))]
        daemon = self.mirror_each(topics).start()
        for fault in held:
            fault.wait_fired()
        self.move_leaders(topics)
        for topic, fault in zip(topics, held):
            self.assertEqual(code_of(fault.release_and_wait()[0], topic), NOT_LEADER)
            self.assert_recovered(daemon, topic, error="NOT_LEADER_OR_FOLLOWER")
        self.assert_mirrored(daemon, topics)

    def test_requests_are_held_while_the_leader_moves_round_and_back(self) -> None:
        """The broker that gets them leads again, under a later epoch, which only a read of the log's end names."""
        data, marker, read = topics = [self.mixed_topic() for _ in range(3)]
        held = [self.fault(HoldRequest(Api.PRODUCE, is_about(data, 0), nth=3)), self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, is_about(marker, 0)))]
        daemon = self.mirror_each(topics).start()
        for fault in held:
            fault.wait_fired()
        daemon.wait_mirrored(self.source.admin(), [read])
        held.append(self.fault(HoldRequest(Api.OFFSET_FOR_LEADER_EPOCH, is_about(read, 0))))
        held[2].wait_fired()
        for _ in range(self.BROKERS):
            self.move_leaders(topics)
        codes = [code_of(fault.release_and_wait()[0], topic) for topic, fault in zip(topics, held)]
        self.assertEqual(codes, [0, 0, FENCED_LEADER_EPOCH])
        self.assert_recovered(daemon, read, error="FENCED_LEADER_EPOCH")
        self.assert_mirrored(daemon, topics)

    def test_leader_moves_between_an_append_and_its_answer(self) -> None:
        data, marker = topics = [self.mixed_topic() for _ in range(2)]
        held = [self.fault(HoldAnswer(Api.PRODUCE, is_about(data, 0), nth=3)), self.fault(HoldAnswer(Api.WRITE_TXN_MARKERS, is_about(marker, 0)))]
        daemon = self.mirror_each(topics).start()
        for fault in held:
            fault.wait_fired()
        self.move_leaders(topics)
        for fault in held:
            fault.lose()
        for topic in topics:
            self.assert_recovered(daemon, topic)
        self.assert_mirrored(daemon, topics)

    def test_leader_dies_with_appends_that_nobody_has_copied(self) -> None:
        topic = self.create_topic(self.source)
        self.batches(topic, 8)  # one run, so the first seven go with acks=1
        request = self.fault(HoldRequest(Api.PRODUCE, is_about(topic, 0), nth=3))
        # The followers' fetches that wait at the leader carry off what comes next; what comes behind that stays with it.
        answer = self.fault(HoldAnswer(Api.PRODUCE, is_about(topic, 0), nth=6))
        daemon = self.mirror([topic])
        request.wait_fired()
        leader = leaders_of(self.destination.admin(), [topic])[topic, 0]
        followers = [broker for broker in range(1, self.BROKERS + 1) if broker != leader]
        for broker in followers:
            self.destination.pause(broker)
        try:
            request.release()
            answer.wait_fired()
            ends = self.fault(Watch(Api.OFFSET_FOR_LEADER_EPOCH, is_about(topic, 0)))
            self.destination.kill(leader)
            self.addCleanup(self.destination.restart, leader)
            answer.lose()
        finally:
            for broker in followers:
                self.destination.resume(broker)
        ends.wait_code(0, topic)
        entry = next(e for answer in ends.answers for e in partitions_of(answer, topic, 0) if e["error_code"] == 0)
        self.assertLess(entry["end_offset"], 6 * RECORDS_PER_BATCH, "nothing is lost")
        self.assert_recovered(daemon, topic)
        self.assert_mirrored(daemon, [topic])

    def test_daemon_knows_a_later_leader_epoch_than_the_broker(self) -> None:
        topic = self.mixed_topic()
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        answers = self.fault(Watch(Api.OFFSET_FOR_LEADER_EPOCH, is_about(topic, 0)))
        self.fault(RewriteRequest(Api.OFFSET_FOR_LEADER_EPOCH, is_about(topic, 0), lambda message: raise_epoch(message, topic)))
        answers.wait_code(UNKNOWN_LEADER_EPOCH, topic)
        self.assert_recovered(daemon, topic, error="UNKNOWN_LEADER_EPOCH")
        self.assert_mirrored(daemon, [topic])


def raise_epoch(message: Message, topic: str) -> None:
    """Puts a leader epoch into the request that is not there yet."""
    for entry in partitions_of(message, topic, 0):
        entry["current_leader_epoch"] += 10


def code_of(answer: Message, topic: str) -> int:
    """The error code for partition 0 of a topic."""
    return next(partitions_of(answer, topic, 0))["error_code"]


if __name__ == "__main__":
    unittest.main()
