"""Compares whole topics by a digest of each partition, made by Kafka's own consumer (LogDigest.java)."""

import dataclasses
import subprocess
from pathlib import Path
from typing import Iterable

from kafka_lab import Cluster

PROGRAM = Path(__file__).parent / "LogDigest.java"
HEAP = "-Xmx768m"


class DigestFailed(Exception):
    """A topic could not be read to its end."""


@dataclasses.dataclass(frozen=True)
class PartitionDigest:
    """What a reader of one isolation level gets from a partition."""

    isolation: str
    partition: int
    start: int
    end: int         # log end offset, or last stable offset for read_committed
    records: int
    positioned: str  # checksum of all records with their offsets
    content: str     # checksum of all records in order, without offsets


def digest_topic(cluster: Cluster, topic: str, isolation_levels: Iterable[str], classpath: str) -> list[PartitionDigest]:
    """Reads the whole topic once for each isolation level."""
    command = ["java", HEAP, "-XX:+UseSerialGC", "-Dlab.level=WARN", "-cp", classpath, str(PROGRAM), cluster.bootstrap, topic, *isolation_levels]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DigestFailed(f"{topic}: reading it ended with {done.returncode}:\n{done.stderr[-3000:]}")
    digests = []
    for line in done.stdout.splitlines():
        isolation, partition, start, end, records, positioned, content = line.split()
        digests.append(PartitionDigest(isolation, int(partition), int(start), int(end), int(records), positioned, content))
    return digests


def differences(source: list[PartitionDigest], destination: list[PartitionDigest], same_offsets: bool) -> list[str]:
    """What a mirror of `source` got wrong, a line for each partition; empty: nothing.

    A mirror that keeps no offsets (same_offsets=False) is held to the records, their order and their number.
    """
    fields = ("start", "end", "records", "positioned") if same_offsets else ("records", "content")
    have = {(d.isolation, d.partition): d for d in destination}
    wanted = {(d.isolation, d.partition): d for d in source}
    found = []
    for key in sorted(wanted.keys() | have.keys()):
        sides = [{field: getattr(digests[key], field) for field in fields} if key in digests else None for digests in (wanted, have)]
        if sides[0] != sides[1]:
            found.append(f"partition {key[1]} ({key[0]}): source {sides[0] or 'missing'}, destination {sides[1] or 'missing'}")
    return found
