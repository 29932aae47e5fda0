"""The destination acts and its answer does not arrive, in every way: what was written is neither lost nor written twice."""

import unittest
from typing import Callable

from fault_kinds import HoldAnswer, LoseAnswer, LoseRequest, SwapAnswers
from fault_test_case import FaultTestCase, marker_count
from faults import Fault, Where
from kafka_frames import is_about
from kafka_layouts import Api
from mirror_daemon import MirrorDaemon

HOLE = 200  # offsets; filler for them fits in one request
MakeFault = Callable[[str], Fault]


def transactional(topic: str) -> Where:
    """A condition: a Produce request with transactional data of the topic."""
    return lambda message: message["transactional_id"] is not None and is_about(topic, 0)(message)


def filler(topic: str) -> Where:
    """A condition: a WriteTxnMarkers request that fills the whole hole in the topic."""
    return lambda message: marker_count(message, topic, 0) == HOLE


class LostAnswersTest(FaultTestCase):
    """One broker. Each way has a topic and a mirror of its own, all in one daemon."""

    def test_answers_are_lost_with_their_connection(self) -> None:
        self.check({
            "third-of-a-run": lambda topic: LoseAnswer(Api.PRODUCE, is_about(topic, 0), nth=3),
            "first-of-a-transaction": lambda topic: LoseAnswer(Api.PRODUCE, transactional(topic)),
            "last-before-a-marker": lambda topic: LoseAnswer(Api.PRODUCE, transactional(topic), nth=2),
            "commit": lambda topic: LoseAnswer(Api.WRITE_TXN_MARKERS, is_about(topic, 0)),
            "abort": lambda topic: LoseAnswer(Api.WRITE_TXN_MARKERS, is_about(topic, 0), nth=2),
        }, {
            "filler": lambda topic: LoseAnswer(Api.WRITE_TXN_MARKERS, filler(topic)),
            # A recovery read asks for the log's end twice; the third time it is about the filler.
            "log-end-behind-filler": lambda topic: LoseAnswer(Api.OFFSET_FOR_LEADER_EPOCH, is_about(topic, 0), nth=3),
        })

    def test_answers_never_come(self) -> None:
        daemon = self.check({
            "third-of-a-run-silent": lambda topic: LoseAnswer(Api.PRODUCE, is_about(topic, 0), nth=3, silent=True),
            "commit-silent": lambda topic: LoseAnswer(Api.WRITE_TXN_MARKERS, is_about(topic, 0), silent=True),
        }, {
            "filler-silent": lambda topic: LoseAnswer(Api.WRITE_TXN_MARKERS, filler(topic), silent=True),
        })
        for request in ("produce", "write_txn_markers"):
            daemon.wait_log(f"partition_retries .*no answer to {request}")

    def test_requests_are_lost_before_the_broker_gets_them(self) -> None:
        self.check({
            "third-of-a-run-unseen": lambda topic: LoseRequest(Api.PRODUCE, is_about(topic, 0), nth=3),
            "commit-unseen": lambda topic: LoseRequest(Api.WRITE_TXN_MARKERS, is_about(topic, 0)),
        }, {
            "filler-unseen": lambda topic: LoseRequest(Api.WRITE_TXN_MARKERS, filler(topic)),
        })

    def test_answers_are_swapped(self) -> None:
        daemon = self.check({"swapped": lambda topic: SwapAnswers(Api.PRODUCE, is_about(topic, 0), nth=2)}, {})
        daemon.wait_log("partition_retries .*correlation")

    def check(self, fresh: dict[str, MakeFault], holed: dict[str, MakeFault]) -> MirrorDaemon:
        """Mirrors a topic for each fault, `holed` ones with a hole in the source's log behind what is mirrored already."""
        daemon = self.mirror_each([*fresh, *holed])
        if holed:
            for topic in holed:
                self.mixed_topic(topic)
            daemon.start()
            daemon.wait_mirrored(self.source.admin(), list(holed))
            daemon.stop()
        for topic in holed:
            self.hole(topic, HOLE)
            self.mixed(topic)
        for topic in fresh:
            self.mixed_topic(topic)
        self.run_with_faults(daemon, {**fresh, **holed})
        return daemon

    def test_killed_between_an_append_and_its_answer(self) -> None:
        faults = {
            "killed-in-a-run": lambda topic: HoldAnswer(Api.PRODUCE, is_about(topic, 0), nth=3),
            "killed-in-a-transaction": lambda topic: HoldAnswer(Api.PRODUCE, transactional(topic)),
            "killed-at-a-commit": lambda topic: HoldAnswer(Api.WRITE_TXN_MARKERS, is_about(topic, 0)),
            "killed-at-an-abort": lambda topic: HoldAnswer(Api.WRITE_TXN_MARKERS, is_about(topic, 0), nth=2),
        }
        topics = {self.mixed_topic(name=name): make for name, make in faults.items()}
        daemon = self.mirror_each(list(topics))
        held = [self.fault(make(topic)) for topic, make in topics.items()]
        daemon.start()
        for fault in held:
            fault.wait_fired()
        daemon.kill()
        for fault in held:
            fault.release()
        daemon.start()
        self.assert_mirrored(daemon, list(topics))


if __name__ == "__main__":
    unittest.main()
