"""Requests of a dead daemon that reach the destination late, after its successor has gone on: refused, recognised, or found."""

import unittest

from fault_kinds import HoldRequest, RewriteAnswer, error_of
from fault_test_case import FaultTestCase, marker_count
from kafka_frames import Message, is_about, partitions_of
from kafka_layouts import Api
from mirror_daemon import MirrorDaemon

HOLE = 200
FENCED = 47  # INVALID_PRODUCER_EPOCH
FENCED_LEADER_EPOCH = 74
TWIN = {0, 45, FENCED}  # a repetition, which gets its old offset; out of order; or behind a marker of a later epoch


class LateRequestsTest(FaultTestCase):
    """One broker. Requests are held on their way while the daemon is killed, started again and goes on."""

    REQUEST_TIMEOUT = "20s"  # the first daemon dies before it has given up on any of them

    def test_appends_and_markers_arrive_after_the_successor_has_gone_on(self) -> None:
        requests = {
            "late-first-append": (Api.PRODUCE, 1, TWIN),
            "late-append-of-a-run": (Api.PRODUCE, 3, TWIN),
            "late-first-of-a-transaction": (Api.PRODUCE, 5, TWIN),
            "late-last-of-a-transaction": (Api.PRODUCE, 6, TWIN),
            "late-commit": (Api.WRITE_TXN_MARKERS, 1, {FENCED}),
            "late-abort": (Api.WRITE_TXN_MARKERS, 2, {FENCED}),
        }
        filler = "late-filler"
        daemon = self.mirror_each([*requests, filler])
        self.mixed_topic(filler)
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [filler])
        daemon.stop()
        self.hole(filler, HOLE)
        self.mixed(filler)
        for topic in requests:
            self.mixed_topic(topic)
        held = {topic: self.fault(HoldRequest(api, is_about(topic, 0), nth)) for topic, (api, nth, _) in requests.items()}
        held[filler] = self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, lambda message: marker_count(message, filler, 0) == HOLE))
        daemon.start()
        for fault in held.values():
            fault.wait_fired()
        daemon.kill()
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), list(held))
        for topic, fault in held.items():
            with self.subTest(topic):
                found = {code for answer in fault.release_and_wait() for code in codes_of(answer, topic)}
                self.assertLessEqual(found, requests[topic][2] if topic in requests else {FENCED})
        self.assert_mirrored(daemon, list(held))

    def test_marker_between_the_recovery_read_and_the_successor_s_own_is_found(self) -> None:
        """No broker can tell the two apart; both are appended, and the partition fails with both offsets."""
        topic, other = self.mixed_topic(), self.mixed_topic()
        late = self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, is_about(topic, 0)))
        daemon = self.mirror([topic, other])
        late.wait_fired()
        daemon.kill()
        own = self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, is_about(topic, 0)))
        daemon.start()
        own.wait_fired()
        for fault in (late, own):
            self.assertEqual(codes_of(fault.release_and_wait()[0], topic), [0])
        entry = daemon.wait_partition(topic, 0, state="FAILED")
        self.assertEqual(entry["last_error"]["code"], "foreign_write")
        self.assertRegex(entry["last_error"]["message"], r"offset \d+ where \d+ was expected")
        daemon.wait_log(rf"error partition_failed .*partition={topic}-0 ")
        self.assert_mirrored(daemon, [other])


class LateAgainTest(FaultTestCase):
    """One broker. The first daemon gives up on a request and tries again under a raised epoch, which is held as well."""

    def test_second_attempt_of_a_marker_arrives_after_the_successor_has_gone_on(self) -> None:
        topic = self.mixed_topic()
        held = self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, is_about(topic, 0), times=2))
        daemon = self.mirror([topic])
        held.wait_fired(2)
        daemon.kill()
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [topic])
        for answer in held.release_and_wait():
            self.assertEqual(codes_of(answer, topic), [FENCED])
        self.assert_mirrored(daemon, [topic])

    def test_first_append_of_a_partition_under_an_epoch_that_others_had_raised(self) -> None:
        topic = self.unique("topic")
        daemon, mirror = self.mirror_with_a_raised_epoch(topic)
        held = self.fault(HoldRequest(Api.PRODUCE, is_about(topic, 0)))
        self.mixed_topic(topic)
        self.check_successor(daemon, mirror, topic, held)

    def test_append_after_a_pause_under_an_epoch_that_others_had_raised(self) -> None:
        topic = self.mixed_topic()
        daemon, mirror = self.mirror_with_a_raised_epoch(topic)
        moved = self.fault(RewriteAnswer(Api.OFFSET_FOR_LEADER_EPOCH, is_about(topic, 0), error_of(topic, 0, FENCED_LEADER_EPOCH)))
        moved.wait_fired()
        self.assert_recovered(daemon, topic)
        daemon.wait_partition(topic, 0, state="MIRRORING")
        held = self.fault(HoldRequest(Api.PRODUCE, is_about(topic, 0)))
        self.mixed(topic)
        self.check_successor(daemon, mirror, topic, held)

    def mirror_with_a_raised_epoch(self, topic: str) -> tuple[MirrorDaemon, str]:
        """A daemon that mirrors the topic and, by the recoveries of another one, has raised the producer epoch twice; its mirror."""
        raised, mirror = self.mixed_topic(), self.unique("mirror")
        held = self.fault(HoldRequest(Api.WRITE_TXN_MARKERS, is_about(raised, 0), times=2))
        daemon = self.mirror([raised, topic], mirror=mirror)
        held.wait_fired(2)
        daemon.wait_mirrored(self.source.admin(), [raised])
        return daemon, mirror

    def check_successor(self, daemon: MirrorDaemon, mirror: str, topic: str, held: HoldRequest) -> None:
        """The daemon dies, another one mirrors the topic alone, and the held request arrives."""
        held.wait_fired()
        daemon.kill()
        successor = self.mirror([topic], mirror=mirror)
        successor.wait_mirrored(self.source.admin(), [topic])
        held.release_and_wait()
        self.assert_mirrored(successor, [topic])


def codes_of(answer: Message, topic: str) -> list[int]:
    """The error codes for partition 0 of a topic in an answer."""
    return [entry["error_code"] for entry in partitions_of(answer, topic, 0)]


if __name__ == "__main__":
    unittest.main()
