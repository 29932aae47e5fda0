"""Brokers that die, hang or lose their power while topics are mirrored under load: three brokers on each side, three
replicas, two of which must agree. Afterwards both sides are equal, nothing is there twice, nothing is missing.

No broker is killed before all replicas are in sync again: what is acknowledged stays with somebody.

MIRRORD_CRASH_ROUNDS=20   so many rounds of kills on each side instead of 1: a soak of about 40 s each
MIRRORD_CRASH_SEED=N      the same brokers and pauses as in the run that printed N
"""

import contextlib
import sys
import time
import unittest
from typing import Iterator

import seed_topics
from chance import asked_count, seeded
from kafka_lab import Cluster
from lab_test_case import DESTINATION_OPTIONS, LabTestCase
from leadership import leaders_of, prefer_leaders, wait_in_sync, wait_led_by_others
from load import Load
from mirror_daemon import MirrorDaemon
from recovery import Recovery

ROUNDS = asked_count("MIRRORD_CRASH_ROUNDS", 1)
TOPICS = ["plain-lz4", "plain-none", "transactional", "compacted", "awkward"]
BROKERS = (1, 2, 3)
HOT = ("transactional", 0)
RECOVERY_SECONDS = 30
HANG_SECONDS = 30
OUTAGE_SECONDS = 180  # restarting four JVMs takes most of it on a busy machine


class BrokerCrashTest(LabTestCase):
    """One pair of clusters, one mirror, topics that grow from test to test."""

    SOURCE = ["--brokers", "3", "--set", "min.insync.replicas=2"]
    DESTINATION = [*SOURCE, *DESTINATION_OPTIONS]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        seed_topics.seed(cls.source.client(), 100, TOPICS)

    @contextlib.contextmanager
    def mirror_under_load(self) -> Iterator[MirrorDaemon]:
        """A daemon at work, and writers; at the end everything must be equal."""
        daemon = self.mirror(TOPICS, mirror="crash")
        load = Load(self.source.client(), rate=400, transactional_producers=6, topics=TOPICS).start()
        for topic in TOPICS:
            daemon.wait_records(topic)
        yield daemon
        load.stop()
        wait_in_sync(self.source.admin())
        wait_in_sync(self.destination.admin())
        daemon.wait_mirrored(self.source.admin(), TOPICS)
        self.assert_equal_topics(TOPICS)
        daemon.stop()
        self.assert_equal_topics(TOPICS)

    def recover(self, daemon: MirrorDaemon, cluster: Cluster, broker: int, how: str) -> None:
        """Right after a broker is lost: the mirror goes on by itself and soon."""
        recovery = Recovery(daemon, f"{cluster.name} broker {broker} {how}")
        wait_led_by_others(cluster.admin(), TOPICS, broker)
        recovery.note("other brokers lead")
        recovery.wait_mirroring(RECOVERY_SECONDS)
        print(recovery.report(), file=sys.stderr)

    def kill_brokers(self, cluster: Cluster) -> None:
        """The leader of a hot partition, dead until the mirror has recovered; then another broker, restarted at once."""
        chance = seeded(f"kills of brokers of the {cluster.name}", "MIRRORD_CRASH_SEED")
        admin = cluster.admin()
        with self.mirror_under_load() as daemon:
            for _ in range(ROUNDS):
                time.sleep(chance.uniform(0, 1))
                first = leaders_of(admin, [HOT[0]])[HOT]
                cluster.kill(first)
                self.recover(daemon, cluster, first, "killed")
                cluster.restart(first)
                wait_in_sync(admin)
                prefer_leaders(admin)
                time.sleep(chance.uniform(0, 1))
                second = chance.choice([broker for broker in BROKERS if broker != first])
                cluster.kill(second)
                cluster.restart(second)
                recovery = Recovery(daemon, f"{cluster.name} broker {second} killed and restarted at once")
                recovery.wait_mirroring(RECOVERY_SECONDS)
                print(recovery.report(), file=sys.stderr)
                wait_in_sync(admin)
                prefer_leaders(admin)

    def test_brokers_of_the_destination_are_killed(self) -> None:
        self.kill_brokers(self.destination)

    def test_brokers_of_the_source_are_killed(self) -> None:
        self.kill_brokers(self.source)

    def hang_broker(self, cluster: Cluster) -> None:
        with self.mirror_under_load() as daemon:
            broker = leaders_of(cluster.admin(), [HOT[0]])[HOT]
            cluster.pause(broker)
            try:
                began = time.monotonic()
                self.recover(daemon, cluster, broker, "hangs")
                time.sleep(max(0, began + HANG_SECONDS - time.monotonic()))
            finally:
                cluster.resume(broker)
            Recovery(daemon, f"{cluster.name} broker {broker} is back").wait_mirroring(RECOVERY_SECONDS)

    def test_a_broker_of_the_destination_hangs(self) -> None:
        self.hang_broker(self.destination)

    def test_a_broker_of_the_source_hangs(self) -> None:
        self.hang_broker(self.source)

    def lose_power(self, cluster: Cluster) -> None:
        with self.mirror_under_load() as daemon:
            cluster.kill_all()
            recovery = Recovery(daemon, f"{cluster.name} without power")
            cluster.restart_all()
            recovery.note("all brokers run")
            recovery.wait_mirroring(OUTAGE_SECONDS)
            print(recovery.report(), file=sys.stderr)

    def test_the_destination_loses_its_power(self) -> None:
        self.lose_power(self.destination)

    def test_the_source_loses_its_power(self) -> None:
        self.lose_power(self.source)


if __name__ == "__main__":
    unittest.main()
