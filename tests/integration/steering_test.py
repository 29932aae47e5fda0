"""Topics paused, resumed, stopped and looked at with kafka-mirror, on real brokers."""

import json
import os
import pty
import subprocess
import unittest
from collections import Counter
from subprocess import CompletedProcess

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from daemon_status import topics_of
from lab_test_case import REQUEST_SECONDS, LabTestCase, led_partitions
from log_reader import READ_COMMITTED, READ_UNCOMMITTED, Ends, LogReader, read_ends
from mirror_cli import cli_binary, run_cli, start_cli
from mirror_daemon import MirrorDaemon
from record_writers import flush, make_producer
from waiting import wait_until


class SteeringTest(LabTestCase):
    """One pair of clusters; each test has topics and a mirror of its own."""

    def setUp(self) -> None:
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

    def tool(self, *arguments: str) -> CompletedProcess:
        """kafka-mirror for the destination, without a terminal."""
        return run_cli(*arguments, "--bootstrap-server", self.destination.bootstrap)

    def succeed(self, *arguments: str) -> str:
        """The same where it must end with 0; its standard output."""
        done = self.tool(*arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def act(self, action: str, topics: str, *more: str) -> str:
        """An action on topics of this test's mirror; what it printed."""
        return self.succeed(f"--{action}", "--mirror", self.name, "--topics", topics, *more)

    def partition(self, topic: str) -> dict:
        """What --describe --json says of partition 0."""
        described = json.loads(self.succeed("--describe", "--mirror", self.name, "--topics", topic, "--json"))
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
        for action in ("pause", "resume"):
            answer = self.tool(f"--{action}", "--mirror", self.name, "--topics", topics[1])
            self.assertEqual((answer.returncode, answer.stdout), (1, ""))
            self.assertRegex(answer.stderr, f"^{topics[1]}: is stopped: --start it")

    def test_a_stop_aborts_what_is_open_and_leaves_an_ordinary_topic(self) -> None:
        topic = self.filled_topic()
        producer = Producer({**self.source.client(), "transactional.id": self.unique("open")})
        producer.init_transactions(REQUEST_SECONDS)
        producer.begin_transaction()
        producer.produce(topic, b"open", partition=0)
        flush(producer)
        daemon = self.mirror([topic], mirror=self.name)
        daemon.wait_partition(topic, 0, state="MIRRORING", destination_end=11)
        self.act("stop", topic, "--yes")
        ends = self.ends(topic)
        self.assertEqual((ends.leo, ends.lso), (11 + 1 + 1, 13))  # the transaction's ABORT and the reset marker
        self.assertEqual((self.seen(topic, READ_COMMITTED), self.seen(topic)), (10, 11))
        producer.commit_transaction(REQUEST_SECONDS)
        self.write(self.destination, topic, [b"idempotent"])
        writer = make_producer(self.destination.client(), transactional_id=self.unique("new"))
        writer.init_transactions(REQUEST_SECONDS)
        writer.begin_transaction()
        writer.produce(topic, b"transactional", partition=0)
        writer.commit_transaction(REQUEST_SECONDS)
        wait_until(lambda: self.ends(topic).lso == 16, "the transaction's end to be readable", REQUEST_SECONDS)
        self.assertEqual(self.seen(topic, READ_COMMITTED), 12)
        self.assertEqual(self.partition(topic)["state"], "STOPPED")

    def test_a_restart_keeps_what_is_paused_and_stopped(self) -> None:
        paused, stopped, running = (self.filled_topic() for _ in range(3))
        daemon = self.mirrored([paused, stopped, running])
        self.act("pause", paused)
        self.act("stop", stopped, "--yes")
        daemon.stop()
        for topic in (paused, stopped, running):
            self.write(self.source, topic, [b"later"])
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [running])
        self.assertEqual([self.partition(topic)["state"] for topic in (paused, stopped, running)], ["PAUSED", "STOPPED", "MIRRORING"])
        self.assertEqual([self.ends(topic).leo for topic in (paused, stopped, running)], [10, 11, 11])
        self.act("resume", paused)
        daemon.wait_mirrored(self.source.admin(), [paused])
        self.assert_equal_topics([paused, running])

    def test_a_stop_does_not_need_the_source(self) -> None:
        first, second = self.filled_topic(), self.filled_topic()
        daemon = self.mirrored([first, second])
        self.source.kill(1)
        try:
            self.act("stop", first, "--yes")
            self.assertEqual((self.ends(first).leo, self.ends(first).lso), (11, 11))
            daemon.stop()
            daemon.start()
            self.act("stop", second, "--yes")
            self.assertEqual((self.ends(second).leo, self.ends(second).lso), (11, 11))
        finally:
            self.source.restart(1)

    def test_dump_state_prints_what_is_recorded(self) -> None:
        topic = self.filled_topic()
        self.mirrored([topic])
        self.act("pause", topic)
        records = self.succeed("--dump-state")
        self.assertRegex(records, rf"(?m)^MirrorTopic  mirror={self.name} destination_topic=\S+  topic={topic} ")
        self.assertRegex(records, rf"(?m)^DesiredState  mirror={self.name} topic={topic}  mirror_name={self.name}\.paused ")
        self.assertRegex(records, rf"(?m)^MirrorPartitionState  mirror={self.name} destination_topic=\S+ partition=0  state=PAUSED ")
        self.assertRegex(records, rf"(?m)^HandOver  mirror={self.name} .* end_offset=10 ")

    def test_list_and_describe_show_mirrors_and_partitions(self) -> None:
        topic = self.create_topic(self.source, partitions=2)
        self.write(self.source, topic, [b"x"] * 3, partition=1)
        long = self.create_topic(self.source, self.unique("a-topic-with-a-name-that-is-longer-than-its-column"))
        missing = self.unique("missing")
        daemon = self.mirrored([topic, long], [topic, long, missing])
        daemon.wait_error(missing)
        rows = [line.split() for line in self.succeed("--describe", "--mirror", self.name).splitlines()]
        self.assertEqual(rows[0], ["MIRROR", "TOPIC", "PARTITION", "SOURCE-OFFSET", "DESTINATION-OFFSET", "LAG", "STATE"])
        shown = sorted([[topic, "0", "0", "0", "0", "MIRRORING"], [topic, "1", "3", "3", "0", "MIRRORING"],
                        [f"...{long[-37:]}", "0", "0", "0", "0", "MIRRORING"], [missing, "-", "-", "-", "-", "FAILED"]])
        self.assertEqual(sorted(row[1:] for row in rows[1:]), shown)
        self.assertEqual([row[0] for row in rows[1:]], [self.name] * 4)
        failed = self.succeed("--describe", "--mirror", self.name, "--failed")
        self.assertRegex(failed, rf"^MIRROR +TOPIC +PARTITION +RETRY +ERROR\n{self.name} +{missing} +- +0 +source topic {missing} does not exist.*\.\.\.\n$")
        self.assertEqual(self.succeed("--describe", "--mirror", self.name, "--topics", topic, "--failed"), "No failed partitions found\n")
        self.assertEqual(self.succeed("--describe", "--mirror", self.name, "--topics", topic, "--failed", "--json"), "[]\n")
        self.assertEqual(self.partition(topic), {"mirror": self.name, "topic": topic, "partition": 0, "sourceOffset": 0, "destinationOffset": 0, "lag": 0,
                                                 "state": "MIRRORING", "retryAttempt": 0, "errorMessage": ""})
        admin = self.source.admin()
        source_id = admin.describe_cluster(request_timeout=REQUEST_SECONDS).result().cluster_id
        rows = [line.split() for line in self.succeed("--list").splitlines()]
        self.assertEqual(rows, [["MIRROR", "TOPICS", "SOURCE-CLUSTER-ID", "SOURCE-BOOTSTRAP-SERVER"], [self.name, "3", source_id, self.source.bootstrap]])

    def test_a_stopped_topic_is_started_anew_once_its_copy_is_deleted(self) -> None:
        topic = self.filled_topic()
        daemon = self.mirrored([topic])
        self.act("stop", topic, "--yes")
        self.write(self.source, topic, [b"later"])
        admin = self.destination.admin()
        admin.delete_topics([topic], request_timeout=REQUEST_SECONDS)[topic].result()
        wait_until(lambda: not led_partitions(admin, topic), "the topic to be gone", REQUEST_SECONDS)
        self.assertEqual(self.act("start", topic), f"Started 1 topic(s) in mirror {self.name}: [{topic}]\n")
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])
        daemon.stop()
        self.write(self.source, topic, [b"later still"])
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_a_stopped_topic_is_not_mirrored_over_what_was_written_to_it(self) -> None:
        topic = self.filled_topic()
        self.mirrored([topic])
        self.act("stop", topic, "--yes")
        self.write(self.destination, topic, [b"of its own"])
        answer = self.tool("--start", "--mirror", self.name, "--topics", topic)
        self.assertEqual((answer.returncode, answer.stdout), (1, ""))
        self.assertRegex(answer.stderr, f"(?m)^{topic}(-0)?: .*delete")
        self.assertEqual((self.ends(topic).leo, self.seen(topic)), (12, 11))
        self.assertRegex(self.succeed("--describe", "--mirror", self.name, "--failed"), topic)
        self.act("stop", topic, "--yes")

    def test_a_dry_run_changes_nothing(self) -> None:
        topic = self.filled_topic()
        daemon = self.mirrored([topic])
        for action, would in (("pause", "would be paused"), ("stop", "would be stopped"), ("resume", "is mirrored already"), ("recover", "has nothing that is FAILED")):
            self.assertEqual(self.act(action, topic, "--dry-run"), f"{topic}: {would}\n")
        self.write(self.source, topic, [b"later"])
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assertEqual(self.partition(topic)["state"], "MIRRORING")
        self.assert_equal_topics([topic])

    def test_what_does_not_exist_is_told_and_the_rest_is_done(self) -> None:
        topic, foreign = self.filled_topic(), self.unique("foreign")
        self.mirrored([topic])
        answer = self.tool("--pause", "--mirror", self.name, "--topics", f"{topic},{foreign},no-{foreign}.*")
        self.assertEqual((answer.returncode, answer.stdout), (1, f"Paused 1 topic(s) in mirror {self.name}: [{topic}]\n"))
        self.assertIn(f"{foreign}: no topic of mirror {self.name} is called {foreign}\n", answer.stderr)
        self.assertIn(f"no-{foreign}.*: no topic of mirror {self.name} matches no-{foreign}.*\n", answer.stderr)
        answer = self.tool("--start", "--mirror", self.name, "--topics", foreign)
        self.assertEqual((answer.returncode, answer.stdout), (1, ""))
        self.assertIn("topics.include", answer.stderr)
        answer = self.tool("--describe", "--mirror", "unheard-of")
        self.assertEqual(answer.returncode, 1)
        self.assertRegex(answer.stderr, rf"there is no mirror unheard-of; there are: .*{self.name}")

    def test_without_a_daemon_a_request_is_withdrawn(self) -> None:
        topic = self.filled_topic()
        daemon = self.mirrored([topic])
        daemon.stop()
        answer = self.tool("--pause", "--mirror", self.name, "--topics", topic)
        self.assertEqual((answer.returncode, answer.stdout), (1, ""))
        self.assertIn("no daemon has answered within 10 s: is kafka-mirrord running for this cluster? The request is withdrawn.", answer.stderr)
        daemon.start()
        self.write(self.source, topic, [b"later"])
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assertNotIn("action=pause", daemon.log())

    def test_a_daemon_that_starts_carries_out_what_is_asked(self) -> None:
        topic = self.filled_topic()
        daemon = self.mirrored([topic])
        daemon.stop()
        asking = start_cli("--pause", "--mirror", self.name, "--topics", topic, "--json", "--bootstrap-server", self.destination.bootstrap)
        self.addCleanup(asking.kill)
        self.assertEqual(asking.stderr.readline(), "waiting for a daemon to answer ...\n")
        daemon.start()
        out, err = asking.communicate(timeout=REQUEST_SECONDS)
        self.assertEqual(asking.returncode, 0, err)
        self.assertEqual(json.loads(out), [{"mirror": self.name, "topic": topic, "ok": True, "state": "PAUSED", "message": ""}])

    def test_each_daemon_answers_for_its_own_mirrors(self) -> None:
        topics = [self.filled_topic(), self.filled_topic()]
        names = [self.unique("a"), self.unique("b")]
        daemons = [self.mirror([topic], mirror=name) for topic, name in zip(topics, names)]
        for daemon, topic in zip(daemons, topics):
            daemon.wait_mirrored(self.source.admin(), [topic])
        listed = self.succeed("--list")
        self.assertEqual([line.split()[:2] for line in listed.splitlines()[1:]], [[name, "1"] for name in names])
        for name, topic, daemon in zip(names, topics, daemons):
            self.assertEqual(self.succeed("--pause", "--mirror", name, "--topics", ".*"), f"Paused 1 topic(s) in mirror {name}: [{topic}]\n")
            self.assertIn("action=pause", daemon.log())
        answer = self.tool("--pause", "--mirror", names[0], "--topics", topics[1])
        self.assertEqual((answer.returncode, answer.stderr), (1, f"{topics[1]}: no topic of mirror {names[0]} is called {topics[1]}\n"))

    def test_a_stop_is_not_taken_by_mistake(self) -> None:
        topic = self.filled_topic()
        answer = self.tool("--stop", "--mirror", self.name, "--topics", topic)
        self.assertEqual((answer.returncode, answer.stdout), (2, ""))
        self.assertIn("add --yes if it is meant", answer.stderr)

    def test_a_person_at_a_terminal_is_asked_before_a_stop(self) -> None:
        topic = self.filled_topic()
        daemon = self.mirrored([topic])
        arguments = ("--stop", "--mirror", self.name, "--topics", topic, "--bootstrap-server", self.destination.bootstrap)
        for answer, code in ((b"n\n", 1), (b"\n", 1), (b"y\n", 0)):
            self.assertNotIn("action=stop", daemon.log())
            terminal, end = pty.openpty()
            os.write(terminal, answer)
            done = subprocess.run([cli_binary(), *arguments], stdin=end, capture_output=True, text=True, timeout=REQUEST_SECONDS, check=False)
            os.close(end)
            os.close(terminal)
            self.assertIn(f"Stop {topic} of mirror {self.name}? [y/N]", done.stderr)
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(self.partition(topic)["state"], "STOPPED")

    def test_a_cluster_that_no_daemon_has_worked_on_is_told(self) -> None:
        done = run_cli("--list", "--bootstrap-server", self.source.bootstrap)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no kafka-mirrord has worked on this cluster yet", done.stderr)

    def test_hundreds_of_partitions_are_steered_and_reported_at_once(self) -> None:
        prefix = self.unique("many")
        topics = [f"{prefix}-{number:03}" for number in range(60)]
        admin = self.source.admin()
        created = admin.create_topics([NewTopic(topic, 10, replication_factor=1) for topic in topics], request_timeout=REQUEST_SECONDS)
        for future in created.values():
            future.result()
        daemon = self.mirror([f"{prefix}-.*"], mirror=self.name)
        daemon.wait_status(lambda status: states_of(status) == {"MIRRORING": 600}, "600 partitions to be mirrored")
        described = json.loads(self.succeed("--describe", "--mirror", self.name, "--json"))
        self.assertEqual([(entry["topic"], entry["partition"]) for entry in described], [(topic, p) for topic in topics for p in range(10)])
        self.assertEqual(self.act("pause", f"{prefix}-.*"), f"Paused 60 topic(s) in mirror {self.name}: [{', '.join(topics)}]\n")
        self.assertEqual(self.act("stop", f"{prefix}-.*", "--exclude", topics[7], "--yes"),
                         f"Stopped 59 topic(s) in mirror {self.name}: [{', '.join(topics[:7] + topics[8:])}]\n")
        described = json.loads(self.succeed("--describe", "--mirror", self.name, "--json"))
        self.assertEqual(Counter(entry["state"] for entry in described), {"STOPPED": 590, "PAUSED": 10})

    def test_a_failed_partition_is_recovered(self) -> None:
        topic = self.filled_topic()
        daemon = self.mirrored([topic])
        self.write(self.destination, topic, [b"foreign"])
        self.write(self.source, topic, [b"later"])
        daemon.wait_partition(topic, 0, state="FAILED")
        self.assertRegex(self.succeed("--describe", "--mirror", self.name, "--failed"), rf"{topic} +0 +NonRetryable ")
        answer = self.tool("--resume", "--mirror", self.name, "--topics", topic)
        self.assertEqual(answer.returncode, 1)
        self.assertRegex(answer.stderr, f"^{topic}: is wanted mirrored already, but is FAILED: .*--recover it")
        errors = len(daemon.log_lines("error"))
        self.assertEqual(self.act("recover", topic), f"Recovering 1 topic(s) in mirror {self.name}: [{topic}]\n")
        wait_until(lambda: len(daemon.log_lines("error")) > errors, "the partition to fail again", REQUEST_SECONDS)
        self.act("stop", topic, "--yes")  # also where it is FAILED
        self.assertEqual((self.ends(topic).leo, self.seen(topic)), (12, 11))


def states_of(status: dict) -> Counter:
    """How many partitions are in each state."""
    return Counter(entry["state"] for topic in topics_of(status) for entry in topic["partitions"])


if __name__ == "__main__":
    unittest.main()
