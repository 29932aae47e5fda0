#!/usr/bin/env python3
"""Shows what kafka-mirrord does, topic by topic: how much is mirrored, records a second, lag.

On a terminal the table is redrawn twice a second; otherwise lines are printed every few seconds for what has changed.
"""

import argparse
import shutil
import sys
import time

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from client_options import add_cluster, cluster_settings
from daemon_status import errors_of, fetch_status, missing_to, source_ends, topics_of

BAR = 16
TERMINAL_PAUSE = 0.5
LINES_PAUSE = 3.0
START_SECONDS = 30


class TopicProgress:
    """One topic's numbers, and its rate from one look to the next."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = ""
        self.records = 0
        self.lag: int | None = None
        self.rate = 0.0
        self.share = 0.0
        self._looked_ms = 0

    def update(self, topic: dict, monotonic_ms: int) -> None:
        """Takes over what /status says."""
        partitions = topic["partitions"]
        records = sum(p["records"] for p in partitions)
        passed = monotonic_ms - self._looked_ms
        if self._looked_ms and passed > 0:
            self.rate = max(0, records - self.records) * 1000 / passed
        self.records, self._looked_ms, self.state = records, monotonic_ms, topic["state"]
        lags = [p["lag"] for p in partitions]
        self.lag = sum(lags) if lags and None not in lags else None
        whole = sum((p["source_end"] or 0) - (p["source_start"] or 0) for p in partitions)
        self.share = max(0, whole - self.lag) / whole if whole and self.lag is not None else float(self.lag == 0)

    def line(self) -> str:
        """The row of the table."""
        full = int(self.share * BAR)
        bar = "#" * full + "." * (BAR - full)
        lag = "?" if self.lag is None else f"{self.lag:,}"
        return f"{self.name:<16} [{bar}] {self.share:>4.0%} {self.rate:>9,.0f}/s  lag {lag:>9}  {self.state:<9}  {self.records:,} records"


class Display:
    """Draws the table, or prints what has changed."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._topics: dict[str, TopicProgress] = {}
        self._drawn = 0
        self._printed: dict[str, tuple] = {}
        self._errors: list[str] = []
        self.pause = TERMINAL_PAUSE if self._terminal else LINES_PAUSE

    def show(self, status: dict) -> None:
        """One look."""
        for topic in topics_of(status):
            progress = self._topics.setdefault(topic["topic"], TopicProgress(topic["topic"]))
            progress.update(topic, status["daemon"]["monotonic_ms"])
        self._errors = errors_of(status)
        if self._terminal:
            self._redraw()
        else:
            self._print_changes()

    def _redraw(self) -> None:
        width = shutil.get_terminal_size().columns
        lines = [progress.line() for progress in self._topics.values()] + [f"! {text}" for text in self._errors[:5]]
        back = f"\033[{self._drawn}F" if self._drawn else ""
        sys.stdout.write(back + "".join(f"\033[2K{line[:width - 1]}\n" for line in lines) + "\033[J")
        sys.stdout.flush()
        self._drawn = len(lines)

    def _print_changes(self) -> None:
        for progress in self._topics.values():
            seen = (progress.records, progress.lag, progress.state)
            if self._printed.get(progress.name) != seen:
                print(progress.line(), flush=True)
                self._printed[progress.name] = seen
        for text in self._errors:
            if text not in self._printed:
                print(f"! {text}", flush=True)
                self._printed[text] = ()


def alive(pid: int | None) -> bool:
    """Whether the daemon still runs; a zombie does not."""
    if pid is None:
        return True
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def follow(arguments: argparse.Namespace) -> int:
    """Shows until the time is over, or until the destination has all that the source had when this was called."""
    display = Display()
    began = time.monotonic()
    wanted = None
    if arguments.until_mirrored:
        wanted = source_ends(AdminClient(cluster_settings(arguments, "source")), arguments.until_mirrored)
    shown_at = 0.0
    while True:
        if not alive(arguments.pid):
            print("show_progress: the daemon has ended", file=sys.stderr)
            return 3
        passed = time.monotonic() - began
        lacking = ["the daemon does not answer"]
        try:
            status = fetch_status(arguments.url)
            lacking = missing_to(status, wanted) if wanted is not None else []
            done = passed >= arguments.seconds if wanted is None else not lacking
            if done or time.monotonic() - shown_at >= display.pause:
                display.show(status)
                shown_at = time.monotonic()
            if done:
                return 0
        except ConnectionError as problem:
            if passed > START_SECONDS:
                print(f"show_progress: {problem}", file=sys.stderr)
                return 1
        if wanted is not None and passed > arguments.seconds:
            print(f"show_progress: not mirrored after {arguments.seconds:g} s:", *lacking[:10], sep="\n  ", file=sys.stderr)
            return 1
        time.sleep(min(display.pause, 0.25))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Exit code: 0 done, 1 not in time or no answer, 3 the daemon (--pid) has ended.")
    parser.add_argument("url", metavar="URL", help="the daemon's /status, http://HOST:PORT/status")
    add_cluster(parser, "source", "the source cluster")
    parser.add_argument("--seconds", type=float, default=10, metavar="S", help="show for so long; with --until-mirrored at most (default 10)")
    parser.add_argument("--until-mirrored", nargs="+", metavar="TOPIC", help="end when all that these source topics hold now is mirrored")
    parser.add_argument("--pid", type=int, help="give up when this process has ended")
    try:
        return follow(parser.parse_args())
    except KeyboardInterrupt:
        return 130
    except (KafkaException, OSError, ValueError) as problem:
        print(f"show_progress: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
