#!/usr/bin/env python3
"""Makes topics of every kind that a mirror finds hard, with data in them, 3 partitions each.

plain-CODEC    one for each codec, and plain-none
transactional  20 producers interleaved, committed and aborted; one aborted by its successor; one still open (partition 2)
compacted      holes between and inside batches, and emptied batches, after a cleaning that was forced and waited for
trimmed        log start above 0: inside a batch, at a batch, and at the very end
append-time    message.timestamp.type=LogAppendTime
awkward        null and empty keys, values and headers, repeated headers, times from 1970 to 2100, one record of 2 MB
"""

import argparse
import random
import sys
import time
from typing import Callable

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

import record_writers as producers
from client_options import add_cluster, cluster_settings
from log_reader import LogReader, READ_UNCOMMITTED, read_ends
from record_writers import PARTITIONS, flush, make_producer, send
from waiting import NotInTime, NotYet, wait_until

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
REQUEST_SECONDS = 30
CLEANING_SECONDS = 90
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
# When the rounds of seed_compacted are written, by their records; transaction markers always carry the time of day.
ROUND_MINUTES = (-120, -60, -30, 0, 20, 40)
INT64_MAX = str(2**63 - 1)

# Retention would move the log starts while a test looks.
TOPICS: dict[str, dict[str, str]] = {
    **{f"plain-{codec}": {"retention.ms": "-1"} for codec in CODECS},
    "transactional": {"retention.ms": "-1"},
    "compacted": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": str(10 * MINUTE_MS)},
    "trimmed": {"retention.ms": "-1"},
    "append-time": {"retention.ms": "-1", "message.timestamp.type": "LogAppendTime"},
    "awkward": {"retention.ms": "-1", "max.message.bytes": "4194304", "message.timestamp.after.max.ms": INT64_MAX},
}


def create_topics(admin: AdminClient, names: list[str]) -> None:
    """Creates these of TOPICS, with three replicas where there are as many brokers."""
    replicas = min(3, len(admin.list_topics(timeout=REQUEST_SECONDS).brokers))
    wanted = [NewTopic(name, PARTITIONS, replication_factor=replicas, config=TOPICS[name]) for name in names]
    for future in admin.create_topics(wanted, request_timeout=REQUEST_SECONDS).values():
        future.result()

    def all_led() -> bool:
        known = admin.list_topics(timeout=REQUEST_SECONDS).topics
        return all(name in known and len(known[name].partitions) == PARTITIONS and
                   all(p.leader >= 0 for p in known[name].partitions.values()) for name in names)

    wait_until(all_led, "leaders of the new topics", REQUEST_SECONDS)


def set_topic_config(admin: AdminClient, topic: str, **configs: str) -> None:
    """Sets topic configs; '_' in the names stands for '.'."""
    entries = [ConfigEntry(key.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET) for key, value in configs.items()]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource], request_timeout=REQUEST_SECONDS)[resource].result()


def seed_plain(cluster: dict[str, object], topic: str, records: int) -> None:
    """Batches of one codec."""
    producer = make_producer(cluster, compression_type=topic.removeprefix("plain-"))
    producers.write_plain(producer, topic, 0, records)
    flush(producer)


def seed_transactional(cluster: dict[str, object], topic: str, records: int) -> None:
    """Overlapping transactions with plain batches between them; ends with an open one in partition 2."""
    plain = make_producer(cluster)
    group = producers.TransactionGroup(cluster, "seed", 20, topic)
    chance = random.Random(3)
    for generation in range(2):
        producers.write_plain(plain, topic, generation * 10, 10)
        flush(plain)
        group.write_interleaved(rounds=3, per_round=max(1, records // 400), chance=chance)
    producers.abort_by_successor(cluster, topic, 0, "seed-predecessor")
    producers.leave_open(cluster, topic, 2, "seed-open", 10)
    group.write_interleaved(rounds=1, per_round=1, chance=chance)


def seed_compacted(cluster: dict[str, object], topic: str, records: int) -> None:
    """Rounds so far apart by their timestamps that new segments begin, whose predecessors the cleaner may take at once.

    Each round repeats the hot keys, which become holes, and adds keys of its own, which stay. Returns when the cleaner
    has removed exactly what it can remove, and stops it from going on.
    """
    hot = max(20, records // 20)
    now = int(time.time() * 1000)
    first = make_producer(cluster, compression_type="lz4")  # writes once: its last batch is emptied and stays
    second = make_producer(cluster, compression_type="zstd")
    transactional = make_producer(cluster, transactional_id="seed-compacted")
    transactional.init_transactions(REQUEST_SECONDS)

    def write(producer, number: int, own_keys: int, value: Callable[[int], bytes | None]) -> None:
        for key in range(hot):
            for partition in range(PARTITIONS):
                record = {"timestamp": now + ROUND_MINUTES[number] * MINUTE_MS}
                send(producer, topic, partition, key=f"hot-{key}".encode(), value=value(key), **record)
                if key < own_keys:
                    send(producer, topic, partition, key=f"own-{number}-{key}".encode(), value=value(key), **record)

    write(first, 0, 0, lambda key: b"emptied later")
    flush(first)
    write(second, 1, hot // 2, lambda key: f"second round {key}".encode())
    flush(second)
    for number, end in ((2, transactional.commit_transaction), (3, transactional.abort_transaction)):
        transactional.begin_transaction()
        write(transactional, number, 5, lambda key: b"in a transaction")
        flush(transactional)
        end(REQUEST_SECONDS)
    write(second, 4, 7, lambda key: None if key % 3 == 0 else f"fifth round {key}".encode())
    flush(second)
    write(second, 5, 0, lambda key: f"in the last segment, which is not cleaned {key}".encode())
    flush(second)
    # One of each key before the last segment, of which the aborted transaction left none; and the last segment.
    left = hot + hot // 2 + 5 + 7 + hot
    wait_for_cleaner(cluster, topic, left)
    set_topic_config(AdminClient(cluster), topic, min_compaction_lag_ms=str(DAY_MS))


def wait_for_cleaner(cluster: dict[str, object], topic: str, left: int) -> None:
    """Waits until each partition holds exactly `left` records."""
    admin = AdminClient(cluster)
    with LogReader(cluster, READ_UNCOMMITTED) as reader:

        def cleaned() -> bool:
            for partition, ends in read_ends(admin, topic, range(PARTITIONS)).items():
                count = sum(1 for _ in reader.records(topic, partition, ends.start, ends.leo))
                if count != left:
                    raise NotYet(f"{topic}-{partition} holds {count} records at {ends.leo} offsets, {left} are wanted")
            return True

        wait_until(cleaned, f"the log cleaner to compact {topic}", CLEANING_SECONDS, pause=0.5)


def seed_trimmed(cluster: dict[str, object], topic: str, records: int) -> None:
    """Deletes records up to the middle of a batch, all of them, and up to where a batch begins."""
    producer = make_producer(cluster, compression_type="lz4", linger_ms=50)
    producers.write_plain(producer, topic, 0, records)
    flush(producer)
    admin = AdminClient(cluster)
    boundary = read_ends(admin, topic, range(PARTITIONS))[2].leo
    producers.write_plain(producer, topic, records, records // 2)
    flush(producer)
    ends = read_ends(admin, topic, range(PARTITIONS))
    starts = (records - 7, ends[1].leo, boundary)
    wanted = [TopicPartition(topic, partition, start) for partition, start in enumerate(starts)]
    for future in admin.delete_records(wanted, request_timeout=REQUEST_SECONDS).values():
        future.result()


def seed_append_time(cluster: dict[str, object], topic: str, records: int) -> None:
    """The producers' times are hidden under the brokers'; compressed and plain batches alternate."""
    pair = [make_producer(cluster, compression_type=codec) for codec in ("none", "gzip")]
    for block in range(10):
        for number in range(max(1, records // 10)):
            for partition in range(PARTITIONS):
                send(pair[block % 2], topic, partition, key=b"k", value=producers.plain_text(number, partition), timestamp=1_000 + number)
        flush(pair[block % 2])


def seed_awkward(cluster: dict[str, object], topic: str, _records: int) -> None:
    """Records at the edges of what the format can say, in all codecs."""
    for codec in CODECS:
        producer = make_producer(cluster, compression_type=codec, message_max_bytes=4_000_000)
        for record in producers.awkward_records():
            for partition in range(PARTITIONS):
                send(producer, topic, partition, **record)
        flush(producer)
    large = random.Random(1).randbytes(2_000_000)
    producer = make_producer(cluster, message_max_bytes=4_000_000)
    send(producer, topic, 0, key=b"large", value=large)
    flush(producer)


SEEDS: dict[str, Callable[[dict[str, object], str, int], None]] = {
    "transactional": seed_transactional,
    "compacted": seed_compacted,
    "trimmed": seed_trimmed,
    "append-time": seed_append_time,
    "awkward": seed_awkward,
}


def seed(cluster: dict[str, object], records: int, names: list[str] | None = None) -> None:
    """Creates the topics and writes about `records` records to each partition of the plain ones."""
    names = names or list(TOPICS)
    admin = AdminClient(cluster)
    create_topics(admin, names)
    for name in names:
        SEEDS.get(name, seed_plain)(cluster, name, records)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_cluster(parser, "cluster", "the cluster")
    parser.add_argument("--topics", nargs="+", metavar="NAME", choices=list(TOPICS), help="only these (default: all)")
    parser.add_argument("--records", type=int, default=2000, metavar="N", help="records in a partition of the plain topics (default 2000)")
    arguments = parser.parse_args()
    if arguments.records < 100:
        parser.error("--records: at least 100")
    began = time.monotonic()
    try:
        for name in arguments.topics or TOPICS:
            seed(cluster_settings(arguments, "cluster"), arguments.records, [name])
            ends = read_ends(AdminClient(cluster_settings(arguments, "cluster")), name, range(PARTITIONS))
            print(f"{name}: " + ", ".join(f"{e.start:,} to {e.leo:,}" for e in ends.values()), flush=True)
    except KeyboardInterrupt:
        return 130
    except (KafkaException, producers.WriteFailed, NotInTime, OSError, ValueError) as problem:
        print(f"seed_topics: {problem}", file=sys.stderr)
        return 1
    print(f"seeded in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
