"""Records two days old: the destination forgets their producer at once, so a repeated append would not be recognised."""

import time
import unittest

from fault_kinds import HoldAnswer, HoldRequest
from fault_test_case import RECORDS_PER_BATCH, FaultTestCase
from kafka_frames import is_about, partitions_of
from kafka_layouts import Api
from waiting import wait_until

BATCHES = 6
OLD_MS = 2 * 24 * 60 * 60 * 1000
FORGET_SECONDS = 20


class OldRecordsTest(FaultTestCase):
    """One broker, which looks for expired producers every 200 ms; they expire a minute after their newest record's time."""

    REQUEST_TIMEOUT = "20s"
    DESTINATION_SETTINGS = ["producer.id.expiration.ms=60000", "producer.id.expiration.check.interval.ms=200"]

    def old_topic(self) -> str:
        topic = self.create_topic(self.source, retention_ms="-1")
        self.batches(topic, BATCHES, timestamp=int(time.time() * 1000) - OLD_MS)
        return topic

    def wait_forgotten(self, topic: str) -> None:
        wait_until(lambda: not self.producers(topic), f"the broker to forget the producers of {topic}", FORGET_SECONDS)

    def test_answer_is_lost_after_the_producer_is_forgotten(self) -> None:
        topic = self.old_topic()
        held = self.fault(HoldAnswer(Api.PRODUCE, is_about(topic, 0), nth=2))
        daemon = self.mirror([topic])
        held.wait_fired()
        self.wait_forgotten(topic)
        held.lose()
        self.assert_recovered(daemon, topic)
        self.assert_mirrored(daemon, [topic])

    def test_killed_after_the_producer_is_forgotten(self) -> None:
        topic = self.old_topic()
        held = self.fault(HoldAnswer(Api.PRODUCE, is_about(topic, 0), nth=2))
        daemon = self.mirror([topic])
        held.wait_fired()
        self.wait_forgotten(topic)
        daemon.kill()
        daemon.start()
        self.assert_mirrored(daemon, [topic])

    def test_append_that_arrives_after_everything_is_mirrored_and_forgotten_is_found(self) -> None:
        """Nothing on the broker can tell it from a new one; it is appended, and the partition fails with both offsets."""
        topic, other = self.old_topic(), self.mixed_topic()
        held = self.fault(HoldRequest(Api.PRODUCE, is_about(topic, 0), nth=2))
        daemon = self.mirror([topic, other])
        held.wait_fired()
        daemon.kill()
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [topic, other])
        self.wait_forgotten(topic)
        answer = held.release_and_wait()[0]
        end = BATCHES * RECORDS_PER_BATCH
        late = next(partitions_of(answer, topic, 0))
        self.assertEqual((late["error_code"], late["base_offset"]), (0, end))
        entry = daemon.wait_partition(topic, 0, state="FAILED")
        self.assertEqual(entry["last_error"]["code"], "foreign_write")
        for offset in (end, end + RECORDS_PER_BATCH):
            self.assertRegex(entry["last_error"]["message"], rf"\b{offset}\b")
        daemon.wait_log(rf"error partition_failed .*partition={topic}-0 ")
        self.assert_mirrored(daemon, [other])


if __name__ == "__main__":
    unittest.main()
