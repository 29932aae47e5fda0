"""What kafka-mirrord says about itself on /status, and when it has caught up."""

import json
import urllib.error
import urllib.request
from typing import Iterator

from confluent_kafka.admin import AdminClient

from log_reader import partitions_of, read_ends

ANSWER_SECONDS = 5


def fetch_status(url: str) -> dict:
    """The document of /status. ConnectionError when nobody answers (yet)."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
            return json.load(answer)
    except (urllib.error.URLError, TimeoutError, OSError, ValueError) as problem:
        raise ConnectionError(f"{url}: {problem}") from problem


def topics_of(status: dict) -> Iterator[dict]:
    """All topics of all mirrors."""
    for mirror in status["mirrors"]:
        yield from mirror["topics"]


def partition_of(status: dict, topic: str, partition: int) -> dict | None:
    """One partition, or None while the daemon does not know it."""
    for known in topics_of(status):
        if known["topic"] == topic:
            for entry in known["partitions"]:
                if entry["partition"] == partition:
                    return entry
    return None


def errors_of(status: dict) -> list[str]:
    """Every error in the document: "where: message"."""
    found = []
    for mirror in status["mirrors"]:
        if mirror["last_error"]:
            found.append(f"mirror {mirror['name']}: {mirror['last_error']['message']}")
        for topic in mirror["topics"]:
            if topic["last_error"]:
                found.append(f"{topic['topic']}: {topic['last_error']['message']}")
            for partition in topic["partitions"]:
                if partition["last_error"]:
                    found.append(f"{topic['topic']}-{partition['partition']}: {partition['last_error']['message']}")
    return found


def source_ends(admin: AdminClient, topics: list[str]) -> dict[tuple[str, int], tuple[int, int]]:
    """Log start and end of every partition of these topics, as the source itself gives them."""
    return {(topic, partition): (ends.start, ends.leo)
            for topic in topics for partition, ends in read_ends(admin, topic, partitions_of(admin, topic)).items()}


def missing_to(status: dict, wanted: dict[tuple[str, int], tuple[int, int]]) -> list[str]:
    """What the destination still lacks of these log starts and ends, by the daemon's own account; empty: nothing."""
    lacking = []
    for (topic, partition), (start, end) in wanted.items():
        entry = partition_of(status, topic, partition)
        have = (entry["destination_start"], entry["destination_end"]) if entry else (None, None)
        if have[0] is None or have[0] < start or have[1] is None or have[1] < end:
            lacking.append(f"{topic}-{partition} is at {have[0]} to {have[1]} of {start} to {end}")
    return lacking
