"""Topics paused, resumed, stopped and looked at with kafka-mirror, on real brokers."""

import json
import unittest

from confluent_kafka import Consumer, Producer, TopicPartition

from lab_test_case import REQUEST_SECONDS, LabTestCase
from log_reader import READ_COMMITTED, READ_UNCOMMITTED, Ends, LogReader, read_ends
from mirror_daemon import MirrorDaemon
from mirror_tool import MirrorTool
from record_writers import flush, make_producer
from waiting import wait_until


class SteeringTest(LabTestCase):
    """One pair of clusters; each test has topics and a mirror of its own."""

    def setUp(self) -> None:
        self.tool = MirrorTool(self.destination)
        self.name = self.unique("mirror")

    def mirrored(self, topics: list[str], include: list[str] | None = None) -> MirrorDaemon:
        """A daemon that has mirrored what these topics hold."""
        daemon = self.mirror(include or topics, mirror=self.name)
        daemon.wait_mirrored(self.source.admin(), topics)
        return daemon

    def filled_topic(self, count: int = 10) -> str:
        """A topic of one partition with records on the source."""
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * count)
        return topic

    def ends(self, topic: str) -> Ends:
        """Of the only partition of the copy."""
        return read_ends(self.destination.admin(), topic, [0])[0]

    def seen(self, topic: str, isolation: str = READ_UNCOMMITTED) -> int:
        """How many records a consumer of the destination finds."""
        ends = self.ends(topic)
        with LogReader(self.destination.client(), isolation) as reader:
            return len(list(reader.records(topic, 0, ends.start, ends.leo)))

    def act(self, action: str, topics: str, *more: str) -> str:
        """An action on topics of this test's mirror; what it printed."""
        return self.tool.succeed(f"--{action}", "--mirror", self.name, "--topics", topics, *more)

    def partition(self, topic: str) -> dict:
        """What --describe --json says of partition 0."""
        described = json.loads(self.tool.succeed("--describe", "--mirror", self.name, "--topics", topic, "--json"))
        return next(entry for entry in described if entry["partition"] == 0)

    def test_pause_keeps_the_copy_as_it_is_and_resume_goes_on(self) -> None:
        topic = self.filled_topic()
        other = self.filled_topic()
        daemon = self.mirrored([topic, other])
        self.assertEqual(self.act("pause", topic), f"Paused 1 topic(s) in mirror {self.name}: [{topic}]\n")
        self.write(self.source, topic, [b"later"])
        self.write(self.source, other, [b"later"])
        daemon.wait_mirrored(self.source.admin(), [other])
        self.assertEqual((self.ends(topic).leo, self.seen(topic), self.seen(other)), (10, 10, 11))
        self.assertEqual(self.partition(topic)["state"], "PAUSED")
        self.assertEqual(self.act("pause", topic), f"Paused 1 topic(s) in mirror {self.name}: [{topic}]\n")
        self.assertEqual(self.act("resume", topic), f"Resumed 1 topic(s) in mirror {self.name}: [{topic}]\n")
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assertEqual(self.seen(topic), 11)
        self.assert_equal_topics([topic, other])

    def test_a_stopped_topic_follows_no_more_and_the_others_go_on(self) -> None:
        prefix = self.unique("orders")
        topics = [self.create_topic(self.source, f"{prefix}.{name}") for name in ("all", "eu", "us")]
        for topic in topics:
            self.write(self.source, topic, [b"x"] * 5)
        daemon = self.mirrored(topics, [f"{prefix}\\..*"])
        self.assertEqual(self.act("stop", f"{prefix}\\.e.", "--yes"), f"Stopped 1 topic(s) in mirror {self.name}: [{topics[1]}]\n")
        for topic in topics:
            self.write(self.source, topic, [b"later"])
        daemon.wait_mirrored(self.source.admin(), [topics[0], topics[2]])
        self.assertEqual([self.ends(topic).leo for topic in topics], [6, 6, 6])
        self.assertEqual([self.seen(topic) for topic in topics], [6, 5, 6])
        self.assertEqual(self.act("stop", topics[1], "--yes"), f"Stopped 1 topic(s) in mirror {self.name}: [{topics[1]}]\n")
        for action, word in (("pause", "is stopped"), ("resume", "is stopped"), ("start", "delete the destination topic")):
            answer = self.tool.run(f"--{action}", "--mirror", self.name, "--topics", topics[1])
            self.assertEqual((answer.code, answer.out), (1, ""))
            self.assertRegex(answer.err, f"^{topics[1]}: .*{word}")


if __name__ == "__main__":
    unittest.main()
