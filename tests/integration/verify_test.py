"""kafka-mirror --verify: a mirror's copies are equal, and whatever is changed in a copy is found."""

import random
import shlex
import subprocess
import time
import unittest

from confluent_kafka import TopicPartition

import seed_topics
from kafka_lab import ROOT, Cluster
from lab_test_case import DESTINATION_OPTIONS, REQUEST_SECONDS, LabTestCase
from load import Load
from log_reader import READ_UNCOMMITTED, LogReader
from mirror_cli import CLI_SECONDS, document, run_cli, start_cli, write_properties
from record_writers import FLUSH_SECONDS, PARTITIONS, flush, make_producer, send
from seed_topics import DAY_MS, MINUTE_MS
from waiting import wait_until

TIME_MS = 1_700_000_000_000


class VerifyTestCase(LabTestCase):
    """What the tests of --verify share."""

    def arguments(self, *topics: str, options: tuple[str, ...] = (), **source: object) -> list[object]:
        """A command line; settings of the source by keyword, '_' stands for '.'."""
        settings = {"bootstrap.servers": self.source.bootstrap, **self.source.security(), **{k.replace("_", "."): v for k, v in source.items()}}
        source_config = write_properties(self.lab.directory / self.unique("source"), settings)
        return ["--bootstrap-server", self.destination.bootstrap, "--verify", "--source-config", source_config, "--topics", ",".join(topics), *options]

    def verify(self, *topics: str, options: tuple[str, ...] = (), **source: object) -> subprocess.CompletedProcess:
        """Runs the command."""
        return run_cli(*self.arguments(*topics, options=options, **source))

    def assert_verified(self, *topics: str) -> None:
        """Everything is equal, by text and by exit code."""
        done = self.verify(*topics)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), len(topics), done.stdout)
        for line in done.stdout.splitlines():
            self.assertRegex(line, r"^[\w-]+: \d+ partitions?, \d+ offsets? compared, equal$")

    def assert_found(self, topic: str, *words: str) -> None:
        """Exit code 1, and one line with all these words."""
        done = self.verify(topic)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue(any(all(word in line for word in words) for line in done.stdout.splitlines()), f"{words} in:\n{done.stdout}{done.stderr}")


class MirroredTest(VerifyTestCase):
    """Copies that the daemon made."""

    def test_topics_of_every_kind_are_equal(self) -> None:
        seed_topics.seed(self.source.client(), 200)
        topics = list(seed_topics.TOPICS)
        daemon = self.mirror(topics)
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)
        self.assert_verified(*topics)
        daemon.stop()
        self.assert_verified(*topics)
        by_pattern = self.verify("plain-.*", "trimmed", options=("--exclude", "plain-none", "--throttle", "100MiB", "--json"))
        self.assertEqual([t["topic"] for t in document(by_pattern)["topics"]], sorted({t for t in topics if t.startswith("plain-")} - {"plain-none"} | {"trimmed"}))
        self.assertTrue(document(by_pattern)["equal"])

    def test_a_mirror_at_work_is_compared_as_far_as_it_is(self) -> None:
        kinds = ["plain-lz4", "transactional"]
        topics = [self.create_topic(self.source, f"busy-{kind}", PARTITIONS) for kind in kinds]
        load = Load(self.source.client(), rate=1500, transactional_producers=8, topics=kinds, prefix="busy-").start()
        self.addCleanup(load.stop)
        daemon = self.mirror(topics)
        for topic in topics:
            daemon.wait_records(topic)
        for _ in range(5):
            written = load.written()
            done = self.verify(*topics)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            wait_until(lambda: load.failed() or load.written() > written + 1000, "more records", REQUEST_SECONDS)

    def test_a_copy_that_lags_is_behind_and_not_different(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 100)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        daemon.stop()
        self.write(self.source, topic, [b"y"] * 7)
        done = self.verify(topic)
        self.assertEqual((done.returncode, done.stdout), (0, f"{topic}: 1 partition, 100 offsets compared, equal, behind by 7\n"))

    def test_records_that_the_source_removes_meanwhile_are_no_difference(self) -> None:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"x"] * 100)
        daemon = self.mirror([topic])
        daemon.wait_mirrored(self.source.admin(), [topic])
        daemon.stop()
        admin = self.source.admin()
        admin.delete_records([TopicPartition(topic, 0, 40)], request_timeout=REQUEST_SECONDS)[TopicPartition(topic, 0)].result()
        done = self.verify(topic)
        self.assertEqual((done.returncode, done.stdout), (0, f"{topic}: 1 partition, 60 offsets compared, equal, 40 older offsets not removed yet\n"))


class ByHandTest(VerifyTestCase):
    """Copies made by hand, honest ones and such with one thing wrong."""

    def make_pair(self) -> str:
        """One topic on both sides, which keeps old records."""
        topic = self.create_topic(self.source, retention_ms="-1")
        return self.create_topic(self.destination, topic, retention_ms="-1")

    def write_records(self, cluster: Cluster, topic: str, numbers: range, **changed: object) -> None:
        """Records whose content follows from their number, the last one changed."""
        producer = make_producer(cluster.client(), compression_type="lz4")
        for number in numbers:
            record = {"key": b"k%d" % number, "value": b"value %d" % number, "headers": [("h", b"1")], "timestamp": TIME_MS + number}
            send(producer, topic, 0, **(record if number != numbers[-1] else {**record, **changed}))
        flush(producer)

    def write_both(self, topic: str, numbers: range, **changed: object) -> None:
        """The same on both sides; `changed` on the destination only."""
        self.write_records(self.source, topic, numbers)
        self.write_records(self.destination, topic, numbers, **changed)

    def write_transaction(self, cluster: Cluster, topic: str, commit: bool) -> None:
        """Five records and the marker."""
        producer = make_producer(cluster.client(), transactional_id=self.unique("id"))
        producer.init_transactions(FLUSH_SECONDS)
        producer.begin_transaction()
        for number in range(5):
            send(producer, topic, 0, key=b"t%d" % number, value=b"v", timestamp=TIME_MS)
        flush(producer)
        if commit:
            producer.commit_transaction(FLUSH_SECONDS)
        else:
            producer.abort_transaction(FLUSH_SECONDS)

    def test_honest_copies_are_equal(self) -> None:
        topic = self.make_pair()
        self.write_both(topic, range(10))
        for cluster in (self.source, self.destination):
            self.write_transaction(cluster, topic, commit=True)
            self.write_transaction(cluster, topic, commit=False)
        self.assert_verified(topic)

    def test_the_command_of_the_readme(self) -> None:
        for topic in ("orders", "payments-eu"):
            self.create_topic(self.source, topic)
            self.create_topic(self.destination, topic)
        source_config = write_properties(self.lab.directory / self.unique("source"), {"bootstrap.servers": self.source.bootstrap})
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        command = next(line for line in readme.splitlines() if line.startswith("build/release/kafka-mirror ") and "--verify" in line)
        words = command.replace("DESTINATION:9092", self.destination.bootstrap).replace("source.properties", str(source_config))
        done = run_cli(*shlex.split(words)[1:])
        self.assertEqual((done.returncode, done.stdout), (0, "orders: 1 partition, 0 offsets compared, equal\n"
                                                             "payments-eu: 1 partition, 0 offsets compared, equal\n"), done.stderr)

    def test_a_broker_that_restarts_meanwhile_is_waited_for(self) -> None:
        topic = self.make_pair()
        values = [random.Random(number).randbytes(10_000) for number in range(2_000)]
        for cluster in (self.source, self.destination):
            producer = make_producer(cluster.client())
            for value in values:
                send(producer, topic, 0, value=value, timestamp=TIME_MS)
            flush(producer)
        with start_cli(*self.arguments(topic, options=("--throttle", "2MiB"))) as verifying:
            # After ten seconds it tells how far it is: half of the way at this pace.
            self.assertRegex(verifying.stderr.readline(), r"^kafka-mirror: \d+ of 2000 offsets \(\d+ %\), 0 of 1 partitions, \d\.\d MB/s, \d+ s left$")
            self.source.kill()
            self.source.restart()
            output, errors = verifying.communicate(timeout=CLI_SECONDS)
        self.assertEqual((verifying.returncode, output), (0, f"{topic}: 1 partition, 2000 offsets compared, equal\n"), errors)

    def test_sides_that_are_compacted_differently_far_are_equal(self) -> None:
        topic = self.create_topic(self.source, cleanup_policy="compact", min_compaction_lag_ms=str(DAY_MS))
        self.create_topic(self.destination, topic, cleanup_policy="compact", min_compaction_lag_ms="0", min_cleanable_dirty_ratio="0.01",
                          segment_ms=str(10 * MINUTE_MS))
        keys, now = 20, int(time.time() * 1000)
        for cluster in (self.source, self.destination):
            producer = make_producer(cluster.client())
            for minutes in (180, 120, 60):  # each in a segment of its own
                for number in range(keys):
                    send(producer, topic, 0, key=b"%d" % number, value=b"%d minutes ago" % minutes, timestamp=now - minutes * MINUTE_MS)
                flush(producer)
            send(producer, topic, 0, key=b"last", value=b"in the segment that is not cleaned", timestamp=now)
            flush(producer)

        def cleaned() -> bool:
            with LogReader(self.destination.client(), READ_UNCOMMITTED) as reader:
                return sum(1 for _ in reader.records(topic, 0, 0, 3 * keys + 1)) == keys + 1

        wait_until(cleaned, f"the log cleaner to compact {topic}", seed_topics.CLEANING_SECONDS, pause=0.5)
        self.assert_verified(topic)
        # The other way round it is the source that lacks records.
        source_config = write_properties(self.lab.directory / self.unique("source"), {"bootstrap.servers": self.destination.bootstrap})
        swapped = run_cli("--bootstrap-server", self.source.bootstrap, "--verify", "--source-config", source_config, "--topics", topic)
        self.assertEqual((swapped.returncode, swapped.stdout), (0, f"{topic}: 1 partition, {3 * keys + 1} offsets compared, equal\n"))

    def test_one_thing_of_one_record(self) -> None:
        for field, value, shown in (("value", b"forged", '"forged"'), ("key", b"other", '"other"'), ("timestamp", TIME_MS, str(TIME_MS)),
                                    ("headers", [("h", b"2")], '"h"="2"')):
            with self.subTest(field):
                topic = self.make_pair()
                self.write_both(topic, range(10), **{field: value})
                self.write_both(topic, range(10, 20))
                self.assert_found(topic, f"{topic}-0 offset 9: {field}: source ", "| destination ", shown)

    def test_a_record_is_missing_in_the_middle(self) -> None:
        topic = self.make_pair()
        self.write_both(topic, range(10))
        self.write_records(self.source, topic, range(10, 20))
        self.write_records(self.destination, topic, range(11, 20))
        self.assert_found(topic, f"{topic}-0 offset 10: value: ", '"value 10" | destination "value 11"')

    def test_a_record_too_many_at_the_end(self) -> None:
        topic = self.make_pair()
        self.write_both(topic, range(10))
        self.write_records(self.destination, topic, range(10, 11))
        self.assert_found(topic, f"{topic}-0 offset 10: log_end: source the log ends at 10 | destination the log ends at 11")

    def test_a_transaction_is_aborted_instead_of_committed(self) -> None:
        topic = self.make_pair()
        self.write_both(topic, range(3))
        self.write_transaction(self.source, topic, commit=True)
        self.write_transaction(self.destination, topic, commit=False)
        self.assert_found(topic, f"{topic}-0 offset 8: outcome: source committed | destination aborted")

    def test_a_record_is_in_no_transaction(self) -> None:
        topic = self.make_pair()
        self.write_transaction(self.source, topic, commit=True)
        producer = make_producer(self.destination.client())
        for number in range(5):
            send(producer, topic, 0, key=b"t%d" % number, value=b"v", timestamp=TIME_MS)
        flush(producer)
        self.assert_found(topic, f"{topic}-0 offset 0: transaction: source in a transaction | destination in no transaction")

    def test_other_numbers_of_partitions(self) -> None:
        topic = self.create_topic(self.source, partitions=2)
        self.create_topic(self.destination, topic)
        self.assert_found(topic, f"{topic}: the source has 2 partitions, the destination 1")

    def test_the_json_document_has_the_difference(self) -> None:
        topic = self.make_pair()
        self.write_both(topic, range(10), value=b"forged")
        done = self.verify(topic, options=("--json",))
        self.assertEqual(done.returncode, 1)
        found = document(done)["topics"][0]
        self.assertEqual((found["differenceCount"], found["compared"], found["behind"]), (1, 10, 0))
        self.assertEqual(found["partitions"][0]["differences"],
                         [{"offset": 9, "kind": "value", "source": '"value 9"', "destination": '"forged"'}])


class RefusedTest(VerifyTestCase):
    """What cannot be compared is told in words that help."""

    DESTINATION = [*DESTINATION_OPTIONS, "--sasl"]

    def verify_as(self, password: str, *topics: str) -> subprocess.CompletedProcess:
        """With a login to the destination, as Kafka's tools take it."""
        login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="{password}";'
        config = write_properties(self.lab.directory / self.unique("command"),
                                  {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login})
        return self.verify(*topics, options=("--command-config", str(config)))

    def test_login(self) -> None:
        topic = self.create_topic(self.source)
        self.create_topic(self.destination, topic)
        right = self.verify_as("admin-secret", topic)
        self.assertEqual((right.returncode, right.stdout), (0, f"{topic}: 1 partition, 0 offsets compared, equal\n"), right.stderr)
        wrong = self.verify_as("wrong-secret", topic)
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertRegex(wrong.stderr, r"nothing was compared: destination: .*user 'admin'.*(?i:authenticat)")
        self.assertNotIn("wrong-secret", wrong.stderr)

    def test_topics_that_do_not_exist(self) -> None:
        topic = self.create_topic(self.source)
        only_there = self.create_topic(self.destination)
        wrong = self.verify_as("admin-secret", topic, only_there)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn(f"{topic}: NOT COMPARED: topic {topic} does not exist on the destination", wrong.stdout)
        self.assertIn(f"{only_there}: NOT COMPARED: topic {only_there} does not exist on the source", wrong.stdout)
        nothing = self.verify_as("admin-secret", "no-such-.*")
        self.assertEqual(nothing.returncode, 1)
        self.assertIn("nothing was compared: no topic on the destination matches no-such-.*", nothing.stderr)

    def test_unreachable_source(self) -> None:
        topic = self.create_topic(self.destination)
        config = {"bootstrap_servers": f"127.0.0.1:{self.lab.free_port()}", "socket_connection_setup_timeout_ms": 2000}
        login = write_properties(self.lab.directory / self.unique("command"), self.destination.security())
        done = self.verify(topic, options=("--command-config", str(login)), **config)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"nothing was compared: source: .*{config['bootstrap_servers']}.*")

    def test_wrong_settings_end_with_2(self) -> None:
        done = self.verify("a", security_protokol="SSL")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"source-\d+:2: security.protokol: unknown key; did you mean security.protocol\?")


if __name__ == "__main__":
    unittest.main()
