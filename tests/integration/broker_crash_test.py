"""Brokers that die, hang or lose their power while topics are mirrored under load: three brokers on each side, three
replicas, two of which must agree. Afterwards both sides are equal, nothing is there twice, nothing is missing.

No broker is killed before all replicas are in sync again: what is acknowledged stays with somebody.

MIRRORD_CRASH_ROUNDS=20   so many rounds of kills, two on each side, instead of 1: a soak of about 80 s each
MIRRORD_CRASH_SEED=N      the same brokers and pauses as in the run that printed N
"""

import contextlib
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator

import seed_topics
from chance import asked_count, seeded
from kafka_lab import Cluster
from lab_test_case import DESTINATION_OPTIONS, LabTestCase
from leadership import leaders_of, prefer_leaders, wait_in_sync, wait_led_by_others
from load import Load
from mirror_daemon import MirrorDaemon
from record_writers import PARTITIONS
from recovery import Recovery

ROUNDS = asked_count("MIRRORD_CRASH_ROUNDS", 1)
TOPICS = ["plain-lz4", "plain-none", "transactional", "compacted", "awkward"]
BROKERS = (1, 2, 3)
HOT = ("transactional", 0)
RECOVERY_SECONDS = 30
HANG_SECONDS = 30
IMPATIENT = {"socket.timeout.ms": 5000}  # writers that turn from a broker that hangs, where librdkafka would wait for a minute
LOG_LINES_MAX = 10  # of one partition in one outage, on the average
OUTAGE_SECONDS = 180  # restarting four JVMs takes most of it on a busy machine


class BrokerCrashTest(LabTestCase):
    """One pair of clusters, one mirror, topics that grow from test to test."""

    SOURCE = ["--brokers", "3", "--set", "min.insync.replicas=2"]
    DESTINATION = [*SOURCE, *DESTINATION_OPTIONS]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        seed_topics.seed(cls.source.client(), 100, TOPICS)

    def setUp(self) -> None:
        for cluster in (self.source, self.destination):
            cluster.restart_dead()  # an earlier test that has failed may have left some

    @contextlib.contextmanager
    def mirror_under_load(self) -> Iterator[MirrorDaemon]:
        """A daemon at work, and writers; at the end everything must be equal."""
        daemon = self.mirror(TOPICS, mirror="crash")
        daemon.wait_mirrored(self.source.admin(), TOPICS)  # a backlog would count as a slow recovery
        load = Load({**self.source.client(), **IMPATIENT}, rate=400, transactional_producers=6, topics=TOPICS).start()
        try:
            for topic in TOPICS:
                daemon.wait_records(topic)
            yield daemon
        finally:
            load.stop()
        wait_in_sync(self.source.admin())
        wait_in_sync(self.destination.admin())
        daemon.wait_mirrored(self.source.admin(), TOPICS)
        daemon.stop()
        self.assert_equal_topics(TOPICS)
        self.assertEqual(daemon.log_lines("error"), [])

    def recover(self, recovery: Recovery, seconds: float = RECOVERY_SECONDS) -> Recovery:
        """The mirror goes on by itself and soon, and its log stays readable."""
        recovery.wait_mirroring(seconds)
        print(recovery.report(), file=sys.stderr)
        self.assertLess(len(recovery.log()), LOG_LINES_MAX * len(TOPICS) * PARTITIONS, "\n".join(recovery.log()[-50:]))
        return recovery

    def lose_leader(self, daemon: MirrorDaemon, cluster: Cluster, broker: int, how: str) -> Recovery:
        """After a broker does not work any more: others are elected, and the mirror follows."""
        recovery = Recovery(daemon, f"{cluster.name} broker {broker} {how}", cluster.name, self.source.admin())
        wait_led_by_others(cluster.admin(), TOPICS, broker)
        recovery.note("other brokers lead")
        return self.recover(recovery)

    def test_brokers_are_killed(self) -> None:
        """On each side the leader of a hot partition, dead until the mirror has recovered; then another one, restarted at once."""
        chance = seeded("kills of brokers", "MIRRORD_CRASH_SEED")
        with self.mirror_under_load() as daemon:
            for cluster in [self.destination, self.source] * ROUNDS:
                time.sleep(chance.uniform(0, 1))
                first = leaders_of(cluster.admin(), [HOT[0]])[HOT]
                cluster.kill(first)
                seen = self.lose_leader(daemon, cluster, first, "killed")
                if cluster is self.destination:
                    self.assertTrue([e for e in seen.errors() if f"broker {first} at " in e], f"/status did not tell why: {seen.errors()}")
                self.bring_back(cluster, first)
                time.sleep(chance.uniform(0, 1))
                second = chance.choice([broker for broker in BROKERS if broker != first])
                cluster.kill(second)
                recovery = Recovery(daemon, f"{cluster.name} broker {second} killed and restarted at once", cluster.name, self.source.admin())
                with ThreadPoolExecutor(1) as pool:
                    back = pool.submit(self.bring_back, cluster, second)
                    self.recover(recovery, OUTAGE_SECONDS)
                    back.result()

    def bring_back(self, cluster: Cluster, broker: int) -> None:
        """Restarts a broker; leaders move to it as soon as it has caught up."""
        cluster.restart(broker)
        wait_in_sync(cluster.admin())
        prefer_leaders(cluster.admin())

    def test_brokers_hang(self) -> None:
        """SIGSTOP of a broker of the destination, and soon of one of the source: they keep their connections and say nothing."""
        with self.mirror_under_load() as daemon, contextlib.ExitStack() as hanging:
            for cluster in (self.destination, self.source):
                broker = leaders_of(cluster.admin(), [HOT[0]])[HOT]
                cluster.pause(broker)
                hanging.callback(cluster.resume, broker)
                began = time.monotonic()
                self.lose_leader(daemon, cluster, broker, "hangs")
            time.sleep(max(0, began + HANG_SECONDS - time.monotonic()))
            hanging.close()
            self.recover(Recovery(daemon, "both brokers go on", "source", self.source.admin()))

    def test_power_is_lost(self) -> None:
        """All of the destination, and when it is back all of the source."""
        with self.mirror_under_load() as daemon:
            for cluster in (self.destination, self.source):
                cluster.kill_all()
                recovery = Recovery(daemon, f"{cluster.name} without power", cluster.name, self.source.admin())
                with ThreadPoolExecutor(1) as pool:
                    back = pool.submit(cluster.restart_dead)
                    back.add_done_callback(lambda _, power_is_back=recovery: power_is_back.note("all brokers run"))
                    self.recover(recovery, OUTAGE_SECONDS)
                    back.result()
                wait_in_sync(cluster.admin())


if __name__ == "__main__":
    unittest.main()
