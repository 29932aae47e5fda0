"""What scripts/bench relies on: a copy that is wrong is found, figures come from the right looks, and a small run works.

From the project's root: MIRRORD_DAEMON=... .cache/venv/bin/python -m unittest -v tests/bench/bench_test.py
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "support")]

from kafka_lab import ROOT, Cluster, KafkaLab
from log_digest import PartitionDigest, differences, digest_topic
from log_reader import ISOLATION_LEVELS, READ_COMMITTED, READ_UNCOMMITTED
from measurement import Look, TooFew, measure
from mirror_daemon import daemon_binary
from record_writers import flush, leave_open, make_producer, send
from report import FIGURES, Round, advantage
from rivals import Daemon
from workloads import WORKLOADS, create_topic

RECORDS: list[dict[str, object]] = [{"key": b"a", "value": b"1"}, {"key": None, "value": b"2"}, {"key": b"b", "value": None}]


class DigestTest(unittest.TestCase):
    """Digests of topics on a real broker."""

    lab: KafkaLab
    cluster: Cluster
    topics = 0

    @classmethod
    def setUpClass(cls) -> None:
        cls.lab = KafkaLab()
        cls.addClassCleanup(cls.lab.stop)
        cls.cluster = cls.lab.start("digests")
        cls.classpath = cls.lab.command("classpath").strip()

    def topic(self, records: list[dict[str, object]]) -> str:
        """A new topic of one partition with these records, all of one time unless they say otherwise."""
        DigestTest.topics += 1
        name = f"topic-{DigestTest.topics}"
        create_topic(self.cluster, dataclasses.replace(WORKLOADS["plain-1k"], name=name, partitions=1))
        producer = make_producer(self.cluster.client())
        for record in records:
            send(producer, name, 0, **{"timestamp": 1_700_000_000_000, **record})
        flush(producer)
        return name

    def digest(self, topic: str, isolation: str = READ_UNCOMMITTED) -> PartitionDigest:
        """Of its only partition."""
        return digest_topic(self.cluster, topic, [isolation], self.classpath)[0]

    def test_equal_topics_have_equal_digests_and_every_kind_of_difference_shows(self) -> None:
        original = self.digest(self.topic(RECORDS))
        self.assertEqual((original.start, original.end, original.records), (0, 3, 3))
        self.assertEqual(differences([original], [self.digest(self.topic(RECORDS))], same_offsets=True), [])
        for what, records in {
            "a lost record": RECORDS[:2],
            "a record twice": [*RECORDS, RECORDS[2]],
            "another order": [RECORDS[1], RECORDS[0], RECORDS[2]],
            "another value": [*RECORDS[:2], {"key": b"b", "value": b"3"}],
            "empty instead of null": [RECORDS[0], {"key": b"", "value": b"2"}, RECORDS[2]],
            "a byte on the other side of key and value": [{"key": b"a1", "value": b""}, *RECORDS[1:]],
            "another time": [{**RECORDS[0], "timestamp": 1_700_000_000_001}, *RECORDS[1:]],
            "a header": [{**RECORDS[0], "headers": [("h", b"")]}, *RECORDS[1:]],
        }.items():
            with self.subTest(what):
                copy = self.digest(self.topic(records))
                self.assertTrue(differences([original], [copy], same_offsets=True))
                self.assertTrue(differences([original], [copy], same_offsets=False))

    def test_a_shift_shows_where_offsets_are_kept_and_only_there(self) -> None:
        shifted = self.topic([])
        leave_open(self.cluster.client(), shifted, 0, "aborted", 1).abort_transaction(30)
        producer = make_producer(self.cluster.client())
        for record in RECORDS:
            send(producer, shifted, 0, **{"timestamp": 1_700_000_000_000, **record})
        flush(producer)
        original, copy = (self.digest(topic, READ_COMMITTED) for topic in (self.topic(RECORDS), shifted))
        self.assertEqual((copy.end, copy.records), (5, 3))
        self.assertEqual(differences([original], [copy], same_offsets=False), [])
        self.assertTrue(differences([original], [copy], same_offsets=True))

    def test_an_open_transaction_ends_what_committed_readers_get(self) -> None:
        topic = self.topic(RECORDS)
        open_one = leave_open(self.cluster.client(), topic, 0, "open", 2)
        self.assertEqual([(d.end, d.records) for d in digest_topic(self.cluster, topic, ISOLATION_LEVELS, self.classpath)], [(5, 5), (3, 3)])
        open_one.abort_transaction(30)

    def test_a_missing_partition_is_a_difference(self) -> None:
        one = PartitionDigest(READ_UNCOMMITTED, 1, 0, 0, 0, "0", "0")
        self.assertTrue(differences([one], [], same_offsets=True))
        self.assertTrue(differences([], [one], same_offsets=False))


class FiguresTest(unittest.TestCase):
    """From looks to figures."""

    def test_the_first_quarter_counts_only_for_the_whole(self) -> None:
        looks = [Look(10.0, 50, 1.0, 10.0), Look(11.0, 400, 3.0, 20.0), Look(13.0, 1000, 4.0, 26.0)]
        # 1,000 offsets hold 500 records: every other offset is a marker.
        found = measure(looks, started=4.0, records=500, record_bytes=100, peak_rss=64.0)
        self.assertEqual((found.steady.seconds, found.steady.records, found.steady.records_per_second), (2.0, 300.0, 150.0))
        self.assertAlmostEqual(found.steady.cpu_seconds_per_million, 1.0 / 300 * 1e6)
        self.assertAlmostEqual(found.steady.broker_cpu_seconds_per_million, 6.0 / 300 * 1e6)
        self.assertEqual((found.whole.seconds, found.whole.records), (3.0, 475.0))
        self.assertEqual((found.start_seconds, found.start_cpu_seconds), (6.0, 1.0))

    def test_one_look_measures_nothing(self) -> None:
        with self.assertRaises(TooFew):
            measure([Look(10.0, 1000, 1.0, 1.0)], 9.0, 1000, 100, 64.0)

    def test_an_advantage_is_above_one_whichever_way_is_better(self) -> None:
        fast = measure([Look(0.0, 1, 0.0, 0.0), Look(1.0, 500, 1.0, 1.0), Look(2.0, 1000, 2.0, 2.0)], 0.0, 1000, 100, 50.0)
        slow = measure([Look(0.0, 1, 0.0, 0.0), Look(2.0, 500, 4.0, 4.0), Look(4.0, 1000, 8.0, 8.0)], 0.0, 1000, 100, 100.0)
        rounds = [Round("w", 1, Daemon.name, 1, 1000, fast), Round("w", 1, "other", 1, 1000, slow), Round("w", 1, Daemon.name, 2, 1000, fast),
                  Round("w", 1, "other", 2, 1000, slow, problems=["not equal"])]
        self.assertEqual([advantage(rounds, figure) for figure in FIGURES], [[2.0], [2.0], [4.0], [4.0], [2.0]])


class RunTest(unittest.TestCase):
    """The script itself."""

    def run_bench(self, *arguments: str) -> subprocess.CompletedProcess:
        """With the daemon under test."""
        return subprocess.run([ROOT / "scripts" / "bench", "--daemon", daemon_binary(), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)

    def test_help_names_every_workload(self) -> None:
        done = self.run_bench("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in WORKLOADS:
            self.assertIn(name, done.stdout)

    def test_a_tiny_run_of_the_daemon_ends_with_equal_copies(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "figures.json"
            done = self.run_bench("--no-mm2", "--only", "transactions", "--replication", "1", "--rounds", "1", "--records", "2000", "--json", str(path))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rounds = json.loads(path.read_text(encoding="utf-8"))["rounds"]
        self.assertEqual([(r["workload"], r["rival"], r["records"], r["problems"]) for r in rounds], [("transactions", Daemon.name, 2000, [])])

    def test_a_failover_of_a_few_topics_is_timed_and_each_ends_where_it_should(self) -> None:
        done = subprocess.run([ROOT / "scripts" / "bench", "stop", "--topics", "4"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"4 topics x 3 partitions .* stopped in \d+\.\d s .* 0 topics end elsewhere")


if __name__ == "__main__":
    unittest.main()
