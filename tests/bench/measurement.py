"""Watches a mirror at work: how far the destination is, and what the processes have used by then."""

import dataclasses
import os
import time
from pathlib import Path
from typing import Callable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from kafka_lab import Cluster

LOOK_SECONDS = 0.05
START_SECONDS = 240    # until something is at the destination; a busy machine starts JVMs slowly
STALLED_SECONDS = 120  # until something more is there
WARM_UP = 0.25  # share of the offsets that is not counted: a JVM compiles while they are copied
REQUEST_SECONDS = 30
NOT_LED_YET = ("LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "UNKNOWN_TOPIC_OR_PART")  # a broker that hears of the topic last
TICKS = os.sysconf("SC_CLK_TCK")


class Stalled(Exception):
    """Nothing arrives any more."""


class TooFew(Exception):
    """There was not enough to do to measure anything."""


@dataclasses.dataclass(frozen=True)
class Look:
    """One moment: offsets at the destination, all partitions together, and CPU seconds used since the processes started."""

    seconds: float
    offsets: int
    mirror_cpu: float
    broker_cpu: float


@dataclasses.dataclass(frozen=True)
class Window:
    """The time between two looks. Records are counted in proportion to the offsets that came in it."""

    seconds: float
    records: float
    records_per_second: float
    megabytes_per_second: float            # payload, in millions of bytes
    cpu_seconds_per_million: float         # of the mirror, per million records
    broker_cpu_seconds_per_million: float  # of the destination's brokers


@dataclasses.dataclass(frozen=True)
class Measurement:
    """A mirror's work on one topic."""

    steady: Window              # from the first look that saw WARM_UP of the offsets to the first that saw all of them
    whole: Window               # from the first look that saw anything
    start_seconds: float        # from the start of the process to the first look that saw anything
    start_cpu_seconds: float    # used by the process until then
    peak_rss_megabytes: float   # of the whole life of the process


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its ended children (proc(5): fields 14 to 17)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / TICKS


def peak_rss_megabytes(pid: int) -> float:
    """VmHWM: the most that was ever resident."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError(f"process {pid} has no VmHWM")


def node_pids(cluster: Cluster) -> list[int]:
    """The brokers of a cluster, and its controller where that is a process of its own."""
    return [int(file.read_text(encoding="utf-8").split()[0]) for file in sorted(cluster.directory.glob("nodes/*/pid"))]


class Progress:
    """How far the destination's copy of a topic is."""

    def __init__(self, admin: AdminClient, topic: str, partitions: int) -> None:
        self._admin = admin
        self._topic = topic
        self._partitions = partitions
        self._created = False

    def offsets(self) -> int:
        """High watermarks of all partitions together; 0 while the topic is being created."""
        if not self._created:
            # An offset that is asked for before there is a leader keeps the client from looking for one again.
            known = self._admin.list_topics(timeout=REQUEST_SECONDS).topics.get(self._topic)
            self._created = known is not None and len(known.partitions) == self._partitions and all(p.leader >= 0 for p in known.partitions.values())
            if not self._created:
                return 0
        asked = {TopicPartition(self._topic, partition): OffsetSpec.latest() for partition in range(self._partitions)}
        try:
            return sum(future.result().offset for future in self._admin.list_offsets(asked, request_timeout=REQUEST_SECONDS).values())
        except KafkaException as problem:
            if problem.args[0].name() not in NOT_LED_YET:
                raise
            return 0


def watch(progress: Progress, wanted: int, pid: int, brokers: list[int], check: Callable[[], None]) -> list[Look]:
    """Looks until `wanted` offsets are there; returns all looks since the first that saw any.

    `check` raises when the mirror has failed.
    """
    looks: list[Look] = []
    moved = time.monotonic()
    seen = 0
    while seen < wanted:
        check()
        offsets = progress.offsets()
        look = Look(time.monotonic(), offsets, cpu_seconds(pid), sum(cpu_seconds(broker) for broker in brokers))
        if offsets:
            looks.append(look)
        if offsets != seen:
            seen, moved = offsets, look.seconds
        elif look.seconds - moved > (STALLED_SECONDS if seen else START_SECONDS):
            raise Stalled(f"{offsets:,} of {wanted:,} offsets are there and nothing has come for {look.seconds - moved:.0f} s")
        if seen < wanted:
            time.sleep(LOOK_SECONDS)
    return looks


def window(first: Look, last: Look, records: int, record_bytes: int) -> Window:
    """The figures between two looks; `records` lie between nothing and the last look."""
    seconds = last.seconds - first.seconds
    counted = records * (last.offsets - first.offsets) / last.offsets
    if seconds <= 0 or counted <= 0:
        raise TooFew(f"nearly all of the {records:,} records came between two looks: too few to measure anything")
    rate = counted / seconds
    return Window(seconds, counted, rate, rate * record_bytes / 1e6, (last.mirror_cpu - first.mirror_cpu) / counted * 1e6,
                  (last.broker_cpu - first.broker_cpu) / counted * 1e6)


def measure(looks: list[Look], started: float, records: int, record_bytes: int, peak_rss: float) -> Measurement:
    """The figures of a mirror that has done all its work."""
    first, last = looks[0], looks[-1]
    warm = next(look for look in looks if look.offsets >= WARM_UP * last.offsets)
    return Measurement(window(warm, last, records, record_bytes), window(first, last, records, record_bytes),
                       first.seconds - started, first.mirror_cpu, peak_rss)
