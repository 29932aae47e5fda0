#!/usr/bin/env python3
"""Compares topics of two clusters offset by offset with a client that is not ours (librdkafka).

Equal means: the same records at the same offsets with the same key, value, headers (order included) and timestamp for
readers of both isolation levels, hence the same transaction outcomes; the same log start, log end and last stable offset.
Nobody may write meanwhile, and a compacted copy must not be compacted on its own (min.compaction.lag.ms).
"""

import argparse
import dataclasses
import re
import sys
from typing import Iterable, Iterator

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from client_options import add_cluster, cluster_settings
from log_reader import ISOLATION_LEVELS, READ_COMMITTED, READ_UNCOMMITTED, Ends, LogReader, Record, partitions_of, read_ends

DIFFERENCES_KEPT = 5  # of one partition
SHOWN_LENGTH = 60
FIELDS = ("key", "value", "headers", "timestamp")


@dataclasses.dataclass
class Difference:
    """One thing that is not equal. `offset` is None for the partition's ends."""

    field: str
    source: object
    destination: object
    offset: int | None = None
    isolation: str | None = None

    def __str__(self) -> str:
        where = "" if self.offset is None else f"offset {self.offset}: "
        reader = f" ({self.isolation})" if self.isolation else ""
        return f"{where}{self.field}: {shown(self.source)} | {shown(self.destination)}{reader}"


@dataclasses.dataclass
class PartitionReport:
    """What the comparison of one partition found."""

    topic: str
    partition: int
    source: Ends | None = None
    destination: Ends | None = None
    records: int = 0    # compared as read_uncommitted
    committed: int = 0  # compared as read_committed
    differences: list[Difference] = dataclasses.field(default_factory=list)
    difference_count: int = 0

    def add(self, difference: Difference) -> None:
        """Counts a difference and keeps it if it is one of the first."""
        self.difference_count += 1
        if len(self.differences) < DIFFERENCES_KEPT:
            self.differences.append(difference)


def shown(value: object) -> str:
    """A value for a person: short, and with null and empty told apart."""
    if value is None:
        return "null"
    text = repr(value)
    if len(text) <= SHOWN_LENGTH:
        return text
    size = f"{len(value)} bytes" if isinstance(value, (bytes, str)) else f"{len(text)} characters"
    return f"{text[:SHOWN_LENGTH]}... ({size})"


def same_timestamp_type(source: str, destination: str) -> bool:
    """A mirror turns the append time into the record's own time, so that it survives; the reverse would lose times.

    Today's format cannot leave out the type: a record without a time becomes a record of the time -1.
    """
    return source == destination or destination == "CreateTime"


def pairs(source: Iterable[Record], destination: Iterable[Record]) -> Iterator[tuple[Record | None, Record | None]]:
    """Joins two logs by offset; None stands where one side has nothing."""
    left, right = iter(source), iter(destination)
    a, b = next(left, None), next(right, None)
    while a is not None or b is not None:
        if b is None or a is not None and a.offset < b.offset:
            yield a, None
            a = next(left, None)
        elif a is None or b.offset < a.offset:
            yield None, b
            b = next(right, None)
        else:
            yield a, b
            a, b = next(left, None), next(right, None)


def compare_record(a: Record, b: Record, isolation: str, report: PartitionReport) -> None:
    """Two records of one offset."""
    if a == b:
        return
    for field in FIELDS:
        if getattr(a, field) != getattr(b, field):
            report.add(Difference(field, getattr(a, field), getattr(b, field), a.offset, isolation))
    if not same_timestamp_type(a.timestamp_type, b.timestamp_type):
        report.add(Difference("timestamp type", a.timestamp_type, b.timestamp_type, a.offset, isolation))


def compare_uncommitted(source: Iterable[Record], destination: Iterable[Record], report: PartitionReport) -> set[int]:
    """Compares all that was written, whatever became of it. Returns the offsets that only one side has."""
    one_sided: set[int] = set()
    for a, b in pairs(source, destination):
        if a and b:
            report.records += 1
            compare_record(a, b, READ_UNCOMMITTED, report)
        else:
            there, offset = ("source", a.offset) if a else ("destination", b.offset)
            one_sided.add(offset)
            report.add(Difference("record", "present" if a else "missing", "present" if b else "missing", offset, READ_UNCOMMITTED))
    return one_sided


def compare_committed(source: Iterable[Record], destination: Iterable[Record], one_sided: set[int], report: PartitionReport) -> None:
    """Compares what read_committed readers get: a record that one side hides has another outcome there."""
    for a, b in pairs(source, destination):
        if a and b:
            report.committed += 1
            compare_record(a, b, READ_COMMITTED, report)
            continue
        offset = a.offset if a else b.offset
        if offset not in one_sided:
            hidden = "not committed"
            report.add(Difference("outcome", "committed" if a else hidden, "committed" if b else hidden, offset, READ_COMMITTED))


def compare_ends(source: Ends, destination: Ends, report: PartitionReport) -> None:
    """Log start, LEO and LSO."""
    report.source, report.destination = source, destination
    for field, name in (("start", "log start"), ("leo", "LEO"), ("lso", "LSO")):
        if getattr(source, field) != getattr(destination, field):
            report.add(Difference(name, getattr(source, field), getattr(destination, field)))


class Comparer:
    """Compares topics of two clusters. Close it after use.

    With `prefix` the destination may end before the source: a mirror that has stopped on its way.
    """

    def __init__(self, source: dict[str, object], destination: dict[str, object], prefix: bool = False) -> None:
        self._prefix = prefix
        self._admins = (AdminClient(source), AdminClient(destination))
        self._readers = {isolation: (LogReader(source, isolation), LogReader(destination, isolation)) for isolation in ISOLATION_LEVELS}

    def topics(self, pattern: str) -> list[str]:
        """The source's topics whose whole name matches; Kafka's internal ones are left out."""
        known = self._admins[0].list_topics(timeout=30).topics
        return sorted(name for name in known if not name.startswith("__") and re.fullmatch(pattern, name))

    def compare(self, topic: str) -> Iterator[PartitionReport]:
        """One report for each partition that either side has."""
        numbers = [partitions_of(admin, topic) for admin in self._admins]
        shared = [p for p in numbers[0] if p in numbers[1]]
        ends = [read_ends(admin, topic, shared) for admin in self._admins]
        if not numbers[0] and not numbers[1]:
            report = PartitionReport(topic, 0)
            report.add(Difference("topic", "missing", "missing"))
            yield report
        for partition in sorted(set(numbers[0]) | set(numbers[1])):
            report = PartitionReport(topic, partition)
            if partition in shared:
                self._compare_partition(report, ends[0][partition], ends[1][partition])
            else:
                report.add(Difference("partition", *("present" if partition in n else "missing" for n in numbers)))
            yield report

    def _compare_partition(self, report: PartitionReport, source: Ends, destination: Ends) -> None:
        if self._prefix:
            source = source._replace(leo=min(source.leo, destination.leo), lso=min(source.lso, destination.lso))
        compare_ends(source, destination, report)
        one_sided: set[int] = set()
        for isolation, end in ((READ_UNCOMMITTED, "leo"), (READ_COMMITTED, "lso")):
            logs = [reader.records(report.topic, report.partition, ends.start, getattr(ends, end))
                    for reader, ends in zip(self._readers[isolation], (source, destination))]
            if isolation == READ_UNCOMMITTED:
                one_sided = compare_uncommitted(*logs, report)
            else:
                compare_committed(*logs, one_sided, report)

    def close(self) -> None:
        """Ends the connections."""
        for readers in self._readers.values():
            for reader in readers:
                reader.close()

    def __enter__(self) -> "Comparer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


ROW = "{:<20} {:>2} {:>9} {:>9}  {:>19}  {:>19}  {:>19}  {}"


def both(report: PartitionReport, field: str) -> str:
    """An end on both sides."""
    return " | ".join("-" if ends is None else f"{getattr(ends, field):,}" for ends in (report.source, report.destination))


def print_report(report: PartitionReport) -> None:
    """One row of the table, and the first differences below it."""
    verdict = "equal" if not report.difference_count else f"DIFFERENT ({report.difference_count:,})"
    print(ROW.format(report.topic, report.partition, f"{report.records:,}", f"{report.committed:,}", both(report, "start"),
                     both(report, "leo"), both(report, "lso"), verdict))
    for difference in report.differences:
        print(f"    {difference}")


def compare_and_print(comparer: Comparer, topics: Iterable[str]) -> bool:
    """Prints the whole table as it grows; true when everything is equal."""
    print(ROW.format("topic", "p", "records", "committed", "log start (s | d)", "LEO (s | d)", "LSO (s | d)", "verdict"))
    reports: list[PartitionReport] = []
    for topic in topics:
        for report in comparer.compare(topic):
            print_report(report)
            sys.stdout.flush()
            reports.append(report)
    bad = sum(1 for report in reports if report.difference_count)
    records, committed = sum(r.records for r in reports), sum(r.committed for r in reports)
    print(f"{len({r.topic for r in reports})} topics, {len(reports)} partitions: {records:,} records compared as read_uncommitted, "
          f"{committed:,} as read_committed; {len(reports) - bad} partitions equal, {bad} different")
    return bool(reports) and not bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Exit code: 0 everything is equal, 1 something differs, 2 it could not be compared.")
    add_cluster(parser, "source", "the source cluster")
    add_cluster(parser, "destination", "the destination cluster")
    parser.add_argument("--topics", nargs="+", metavar="NAME", help="topics to compare (default: all of --pattern)")
    parser.add_argument("--pattern", default=".*", help="regular expression for the source's topics to compare (default: all)")
    arguments = parser.parse_args()
    try:
        with Comparer(cluster_settings(arguments, "source"), cluster_settings(arguments, "destination")) as comparer:
            return 0 if compare_and_print(comparer, arguments.topics or comparer.topics(arguments.pattern)) else 1
    except KeyboardInterrupt:
        return 130
    except (KafkaException, OSError, ValueError) as problem:
        print(f"compare_topics: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
