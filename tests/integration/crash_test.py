"""kill -9 of the daemon at random moments under load with transactions: afterwards both sides are equal, nothing is there
twice, nothing is missing.

MIRRORD_CRASH_KILLS=500   so many kills instead of 50: a soak of about MIRRORD_CRASH_KILLS x 2 s
MIRRORD_CRASH_SEED=N      the same phases and pauses as in the run that printed N (the moments still depend on the machine)
"""

import random
import sys
import time
import unittest
from collections import Counter

import seed_topics
from chance import asked_count, seeded
from lab_test_case import LabTestCase
from load import Load
from mirror_daemon import MirrorDaemon

KILLS = asked_count("MIRRORD_CRASH_KILLS", 50)
CATCH_UP_SECONDS = 60 + 2 * KILLS  # a mirror that is mostly down falls behind
BUSY_TOPIC = "transactional"


def die_starting(daemon: MirrorDaemon, chance: random.Random) -> None:
    """Within its first 300 ms: it connects, reads its state, takes over."""
    time.sleep(chance.uniform(0, 0.3))
    daemon.kill()


def die_settling(daemon: MirrorDaemon, chance: random.Random) -> None:
    """In the second between the two readings of the destination's log, or with the first writes after it."""
    daemon.wait_log(" topic_mirroring ")
    time.sleep(chance.uniform(0, 1.3))
    daemon.kill()


def die_mirroring(daemon: MirrorDaemon, chance: random.Random) -> None:
    """With writes under way."""
    daemon.wait_records(BUSY_TOPIC)
    time.sleep(chance.uniform(0, 1))
    daemon.kill()


def die_stopping(daemon: MirrorDaemon, chance: random.Random) -> None:
    """While it hands over after SIGTERM, or just after it has."""
    daemon.wait_records(BUSY_TOPIC)
    daemon.ask_to_stop()
    time.sleep(chance.uniform(0, 0.15))
    daemon.kill()


PHASES = {die_starting: 8, die_settling: 6, die_mirroring: 4, die_stopping: 2}  # with their weights


class CrashTest(LabTestCase):
    """One pair of clusters of one broker each; all kinds of topics under load."""

    def test_killed_at_random_moments(self) -> None:
        chance = seeded(f"{KILLS} kills", "MIRRORD_CRASH_SEED")
        topics = list(seed_topics.TOPICS)
        seed_topics.seed(self.source.client(), 100)
        daemon = self.daemon(self.configuration(topics))
        load = Load(self.source.client(), rate=600, transactional_producers=6).start()
        died: Counter[str] = Counter()
        # Each phase at least once, in any order.
        order = list(PHASES) + chance.choices(list(PHASES), weights=list(PHASES.values()), k=KILLS - len(PHASES))
        chance.shuffle(order)
        for die in order:
            daemon.start()
            die(daemon, chance)
            died[die.__name__] += 1
            if chance.random() < 0.1:
                time.sleep(chance.uniform(0, 2))
        daemon.start()
        daemon.wait_records(BUSY_TOPIC)
        written = load.stop()
        began = time.monotonic()
        daemon.wait_mirrored(self.source.admin(), topics, CATCH_UP_SECONDS)
        caught_up = time.monotonic() - began
        self.assert_equal_topics(topics)
        daemon.stop()
        self.assert_equal_topics(topics)
        self.assertEqual(daemon.log_lines("error"), [])
        print(f"{dict(died)}; {written:,} records written meanwhile; caught up {caught_up:.0f} s after the last of them", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
