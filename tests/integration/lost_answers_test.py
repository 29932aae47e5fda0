"""The destination has acted and its answer does not arrive, in every way: what was written is neither lost nor written twice."""

import unittest

from fault_test_case import FaultTestCase, is_transactional, marker_count
from faults import HoldAnswer, LoseAnswer, LoseRequest, SwapAnswers
from kafka_frames import is_about
from kafka_layouts import Api


class LostAnswersTest(FaultTestCase):
    """One broker; each test mirrors a topic of its own."""

    def mirror_through(self, make_fault, error: str = "") -> None:
        """Mirrors a topic while the fault that `make_fault` makes for it happens."""
        topic = self.mixed_topic()
        fault = self.fault(make_fault(topic))
        daemon = self.mirror([topic])
        fault.wait_fired()
        self.assert_recovered(daemon, topic, error=error)
        self.assert_mirrored(daemon, [topic])

    def test_answer_to_the_third_append_of_a_run_is_lost_with_the_connection(self) -> None:
        self.mirror_through(lambda topic: LoseAnswer(Api.PRODUCE, is_about(topic, 0), nth=3))

    def test_answer_to_the_third_append_of_a_run_never_comes(self) -> None:
        self.mirror_through(lambda topic: LoseAnswer(Api.PRODUCE, is_about(topic, 0), nth=3, silent=True))


if __name__ == "__main__":
    unittest.main()
