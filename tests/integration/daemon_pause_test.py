"""SIGSTOP of the daemon under load, then SIGCONT: what a frozen virtual machine or a long pause of the host does.

The first daemon may meet what a second one has written meanwhile. It goes on, or it is FAILED and says so; both sides are
never silently different.
"""

import sys
import time
import unittest
from collections import Counter

import seed_topics
from compare_topics import Comparer, PartitionReport
from daemon_status import errors_of, missing_to, partition_of, source_ends, topics_of
from lab_test_case import LabTestCase
from load import Load
from mirror_daemon import MirrorDaemon
from record_writers import PARTITIONS
from waiting import NotYet, wait_until

KINDS = ["plain-lz4", "transactional", "compacted"]
PAUSE_SECONDS = 60
LEASE_SECONDS = 10   # a daemon that was silent for so long counts as absent (design: presence)
TAKEN_OVER = 1000    # records that the second daemon mirrors
OUTCOME_SECONDS = 90


def mirrored_records(status: dict) -> int:
    """Records that this process has mirrored."""
    return sum(p["records"] for topic in topics_of(status) for p in topic["partitions"])


class DaemonPauseTest(LabTestCase):
    """One pair of clusters; each test has a load on topics of its own."""

    def load(self, prefix: str) -> tuple[list[str], Load]:
        """New topics and writers at work on them."""
        topics = [self.create_topic(self.source, prefix + kind, PARTITIONS, **seed_topics.TOPICS[kind]) for kind in KINDS]
        for topic in topics:
            if topic.endswith("compacted"):
                # Compaction of its own would make the sides differ for reasons that have nothing to do with the mirror.
                seed_topics.set_topic_config(self.source.admin(), topic, min_compaction_lag_ms=str(seed_topics.DAY_MS))
        load = Load(self.source.client(), rate=300, transactional_producers=4, topics=KINDS, name=prefix, prefix=prefix)
        return topics, load.start()

    def test_stopped_for_a_minute_and_meanwhile_another_mirror_changes_hands(self) -> None:
        """The minute of one mirror is used for the three acts of the other."""
        topics, load = self.load("minute-")
        frozen = self.mirror(topics)
        frozen.wait_records("minute-transactional")
        frozen.pause()
        paused = time.monotonic()
        for resume_while_second_runs in (False, True):
            self.change_hands(f"hands-{resume_while_second_runs}-".lower(), resume_while_second_runs)
        time.sleep(max(0, paused + PAUSE_SECONDS - time.monotonic()))
        frozen.resume()
        frozen.wait_mirrored(self.source.admin(), topics, OUTCOME_SECONDS)
        load.stop()
        frozen.wait_mirrored(self.source.admin(), topics, OUTCOME_SECONDS)
        self.assert_equal_topics(topics)
        self.assertEqual(errors_of(frozen.status()), [])
        frozen.stop()
        self.assert_equal_topics(topics)

    def change_hands(self, prefix: str, resume_while_second_runs: bool) -> None:
        """The first daemon is stopped, a second one takes over, the first goes on."""
        topics, load = self.load(prefix)
        configuration = self.configuration(topics)
        first = self.daemon(configuration).start()
        first.wait_records(f"{prefix}transactional")
        first.pause()
        paused = time.monotonic()
        second = self.daemon(configuration).start()
        second.wait_status(lambda status: mirrored_records(status) >= TAKEN_OVER, f"{TAKEN_OVER} records of the second daemon")
        time.sleep(max(0, paused + LEASE_SECONDS - time.monotonic()))
        if resume_while_second_runs:
            first.resume()
            first.wait_status(self.has_come_back, "the first daemon to mirror again or to say why not")
            second.kill()
        else:
            second.stop()
            first.resume()
        load.stop()
        wanted = source_ends(self.source.admin(), topics)
        states = wait_until(lambda: self.outcome(first, wanted), "each partition to be mirrored or FAILED", OUTCOME_SECONDS)
        different = self.different(topics)
        second_is = "runs on" if resume_while_second_runs else "has handed over"
        seen = [f"the second daemon {second_is}: {dict(Counter(states.values()))}, {len(different)} partitions differ", *errors_of(first.status())[:3]]
        print("\n  ".join(seen), file=sys.stderr)
        for report in different:
            self.assertEqual(states[report.topic, report.partition], "FAILED", f"silently different: {[str(d) for d in report.differences]}")
        first.kill()

    def has_come_back(self, status: dict) -> bool:
        """Each partition is mirrored again, or has something to say: that somebody else writes there."""
        partitions = [p for topic in topics_of(status) for p in topic["partitions"]]
        return len(partitions) == len(KINDS) * PARTITIONS and all(p["state"] == "MIRRORING" or p["last_error"] for p in partitions)

    def outcome(self, daemon: MirrorDaemon, wanted: dict[tuple[str, int], tuple[int, int]]) -> dict[tuple[str, int], str]:
        """What has become of each partition, once each is either FAILED for good or has all that is wanted of it."""
        status = daemon.status()
        states = {(topic["topic"], p["partition"]): p["state"] for topic in topics_of(status) for p in topic["partitions"]}
        for where, state in states.items():
            for_good = partition_of(status, *where)["retry_attempt"] == -1
            if state == "FAILED" and for_good:
                continue
            lacking = missing_to(status, {where: wanted[where]}) if where in wanted else []
            if lacking or state != "MIRRORING":
                raise NotYet(f"{where} is {state}, {lacking}, errors {errors_of(status)[:3]}")
        return states

    def different(self, topics: list[str]) -> list[PartitionReport]:
        """The partitions whose destination is not a prefix of the source."""
        with Comparer(self.source.client(), self.destination.client(), prefix=True) as comparer:
            return [report for topic in topics for report in comparer.compare(topic) if report.difference_count]


if __name__ == "__main__":
    unittest.main()
