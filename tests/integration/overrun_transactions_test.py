"""The source's retention passes a mirror that is down while transactions are open on the destination.

Their data lies before the source's log start then, and with it perhaps their end. Afterwards both sides are equal: the last
stable offset does not hang on the destination, and no aborted record has become a committed one.
"""

import itertools
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

from confluent_kafka import Producer, TopicPartition

from lab_test_case import LabTestCase, REQUEST_SECONDS
from log_reader import read_ends
from mirror_daemon import MirrorDaemon
from record_writers import FLUSH_SECONDS, flush, leave_open, send

OPEN_RECORDS = 10


class Story:
    """A topic whose transaction is open, with data that is mirrored, when the mirror goes down."""

    def __init__(self, test: "OverrunTransactionsTest", name: str) -> None:
        self._test = test
        self.topic = test.create_topic(test.source, test.unique(name))
        self._producer: Producer = leave_open(test.source.client(), self.topic, 0, self.topic, OPEN_RECORDS)
        self.plain(5)
        self.when_mirrored: Callable[[], None] = lambda: None

    def plain(self, count: int) -> "Story":
        """Records of another producer."""
        self._test.write(self._test.source, self.topic, [b"plain"] * count)
        return self

    def end(self, commit: bool) -> "Story":
        """Ends the open transaction."""
        (self._producer.commit_transaction if commit else self._producer.abort_transaction)(FLUSH_SECONDS)
        return self

    def next_transaction(self) -> "Story":
        """The same producer's next one, with data."""
        self._producer.begin_transaction()
        for number in range(7):
            send(self._producer, self.topic, 0, key=b"next", value=f"{number}".encode())
        flush(self._producer)
        return self

    def overrun(self) -> "Story":
        """Twenty records that no mirror can have, and all that there is now is deleted."""
        self.plain(20)
        where = TopicPartition(self.topic, 0, -1)
        admin = self._test.source.admin()
        admin.delete_records([where], request_timeout=REQUEST_SECONDS)[where].result()
        return self

    def later(self, step: Callable[[], object]) -> None:
        """What happens once the mirror has caught up again."""
        self.when_mirrored = step


def still_open(story: Story, commit: bool) -> None:
    story.overrun().plain(5).later(lambda: story.end(commit).plain(3))


def ended_and_gone(story: Story, commit: bool) -> None:
    story.end(commit).overrun().plain(5)


def ended_in_the_gap_of_an_empty_log(story: Story, commit: bool) -> None:
    story.end(commit).overrun().later(lambda: story.plain(5))


def only_the_marker_is_left(story: Story, commit: bool) -> None:
    story.overrun().end(commit).plain(5)


def the_next_one_has_another_outcome(story: Story, commit: bool) -> None:
    story.end(commit).overrun().next_transaction().plain(5).end(not commit).plain(5)


def the_next_one_is_open(story: Story, commit: bool) -> None:
    story.end(commit).overrun().next_transaction().plain(5).later(lambda: story.end(not commit).plain(3))


STORIES = (still_open, ended_and_gone, ended_in_the_gap_of_an_empty_log, only_the_marker_is_left, the_next_one_has_another_outcome,
           the_next_one_is_open)


class OverrunTransactionsTest(LabTestCase):
    """One pair of clusters. All stories at once, a topic each, for each way in which a mirror goes down."""

    def overrun(self, down: Callable[[MirrorDaemon], object], up: Callable[[MirrorDaemon], object]) -> None:
        plots = list(itertools.product(STORIES, (True, False)))
        with ThreadPoolExecutor(len(plots)) as pool:
            stories = list(pool.map(lambda plot: Story(self, f"{plot[0].__name__}-{'commit' if plot[1] else 'abort'}".replace("_", "-")), plots))
            topics = [story.topic for story in stories]
            daemon = self.mirror(topics)
            for topic in topics:
                daemon.wait_partition(topic, 0, state="MIRRORING", destination_end=OPEN_RECORDS + 5)
            down(daemon)
            list(pool.map(lambda plot, story: plot[0](story, plot[1]), plots, stories))
            up(daemon)
            self.wait_equal(daemon, topics)
            list(pool.map(lambda story: story.when_mirrored(), stories))
            self.wait_equal(daemon, topics)
        for topic in topics:
            ends = read_ends(self.destination.admin(), topic, [0])[0]
            self.assertEqual(ends.lso, ends.leo, f"{topic}: a transaction is open for ever")

    def wait_equal(self, daemon: MirrorDaemon, topics: list[str]) -> None:
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)

    def test_an_orderly_stop(self) -> None:
        self.overrun(MirrorDaemon.stop, MirrorDaemon.start)

    def test_a_kill(self) -> None:
        self.overrun(MirrorDaemon.kill, MirrorDaemon.start)

    def test_a_daemon_that_was_frozen(self) -> None:
        self.overrun(MirrorDaemon.pause, MirrorDaemon.resume)


if __name__ == "__main__":
    unittest.main()
