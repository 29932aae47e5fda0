#!/usr/bin/env python3
"""How long a failover takes: one `kafka-mirror --stop` of all topics of a mirror, on real brokers.

Every partition holds a few records and is mirrored to its end before the stop; afterwards each must end one offset later, with its
reset marker. Printed are the seconds until all topics are copied (from the daemon's start), until the command returns, and
the daemon's CPU time of the stop.
"""

import argparse
import os
import sys
import time

from confluent_kafka.admin import NewTopic

from kafka_lab import KafkaLab
from log_reader import read_ends
from measurement import cpu_seconds
from mirror_cli import run_cli
from mirror_daemon import MirrorDaemon
from record_writers import flush, make_producer
from waiting import wait_until

PARTITIONS = 3
RECORDS = 3
CREATE_AT_ONCE = 100
PATIENCE_SECONDS = 900
BROKER = ["--set", "transaction.partition.verification.enable=false"]


def fill(source, topics: list[str]) -> None:
    """Creates the topics and writes a few records to each partition."""
    admin = source.admin()
    for first in range(0, len(topics), CREATE_AT_ONCE):
        some = [NewTopic(topic, PARTITIONS, replication_factor=1) for topic in topics[first:first + CREATE_AT_ONCE]]
        for future in admin.create_topics(some, request_timeout=60).values():
            future.result()
    producer = make_producer(source.client())
    for topic in topics:
        for partition in range(PARTITIONS):
            for _ in range(RECORDS):
                producer.produce(topic, b"x", partition=partition)
        producer.poll(0)
    flush(producer)


def count_copied(daemon: MirrorDaemon) -> int:
    """Partitions that have all."""
    return sum(1 for mirror in daemon.status()["mirrors"] for topic in mirror["topics"] for p in topic["partitions"]
               if p["state"] == "MIRRORING" and p["destination_end"] == RECORDS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench stop", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=1000, help=f"topics of {PARTITIONS} partitions each (default 1000)")
    wanted = parser.parse_args().topics
    lab = KafkaLab()
    try:
        source, destination = lab.start_together(source=[], destination=BROKER)
        topics = [f"failover.{number}" for number in range(wanted)]
        fill(source, topics)
        daemon = MirrorDaemon(lab.directory / "daemon", {
            "destination": destination.for_daemon(),
            "mirrors": [{"name": "bench", "source": source.for_daemon(), "topics.include": ["failover\\..*"]}],
            "ownership": "all",
            "http.listen": "127.0.0.1:0",
        })
        began = time.monotonic()
        daemon.start()
        try:
            wait_until(lambda: count_copied(daemon) == wanted * PARTITIONS, "all topics to be copied", PATIENCE_SECONDS)
            copied = time.monotonic() - began
            cpu = cpu_seconds(daemon.pid)
            began = time.monotonic()
            done = run_cli("--stop", "--mirror", "bench", "--topics", ".*", "--yes", "--timeout", PATIENCE_SECONDS, "--bootstrap-server",
                           destination.bootstrap, seconds=PATIENCE_SECONDS)
            stopped = time.monotonic() - began
            cpu = cpu_seconds(daemon.pid) - cpu
            if done.returncode != 0:
                print(done.stderr, file=sys.stderr)
                return 1
            admin = destination.admin()
            wrong = [topic for topic in topics if any(ends.leo != RECORDS + 1 or ends.lso != RECORDS + 1
                                                      for ends in read_ends(admin, topic, list(range(PARTITIONS))).values())]
            print(f"{wanted} topics x {PARTITIONS} partitions on {os.cpu_count()} processors, brokers among them: copied in {copied:.1f} s, "
                  f"stopped in {stopped:.1f} s with {cpu:.1f} s of the daemon's CPU time; {len(wrong)} topics end elsewhere than they should")
            return 1 if wrong else 0
        finally:
            daemon.kill()
    finally:
        lab.stop()


if __name__ == "__main__":
    sys.exit(main())
