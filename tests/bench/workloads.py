"""What is mirrored: the topics of the benchmark, and how the source gets their data."""

import dataclasses
import random
import subprocess
from pathlib import Path
from typing import Callable

from confluent_kafka.admin import NewTopic

from kafka_lab import ROOT, Cluster
from log_reader import READ_COMMITTED, READ_UNCOMMITTED
from transactions import write_transactions
from waiting import wait_until

REQUEST_SECONDS = 30
PAYLOAD_LINES = 20_000
# ProducerPerformance goes on after a record that it could not deliver, and a busy machine can stand still for a minute.
PRODUCE_TIMEOUTS = {"request.timeout": 120_000, "max.block": 600_000, "delivery.timeout": 600_000}


class ProduceFailed(Exception):
    """The source does not hold what was to be written."""


@dataclasses.dataclass(frozen=True)
class Workload:
    """One topic and the data in it."""

    name: str
    text: str
    partitions: int
    record_bytes: int
    records: int        # of the default preset
    quick_records: int
    compression: str
    transactional: bool
    produce: Callable[["Workload", Cluster, int, Path], None]

    @property
    def isolation_levels(self) -> list[str]:
        """As whom the logs are read for comparison: without transactions both see the same."""
        return [READ_UNCOMMITTED, READ_COMMITTED] if self.transactional else [READ_UNCOMMITTED]


def producer_perf(workload: Workload, cluster: Cluster, records: int, *payload: str) -> None:
    """Kafka's own ProducerPerformance, idempotent and with acks=all, as Kafka's producers are by default."""
    command = [ROOT / "scripts" / "kafka", "run", "producer-perf", "--bootstrap-server", cluster.bootstrap, "--topic", workload.name,
               "--num-records", str(records), "--throughput", "-1", *payload,
               "--command-property", f"compression.type={workload.compression}",
               *(f"{name}.ms={milliseconds}" for name, milliseconds in PRODUCE_TIMEOUTS.items())]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProduceFailed(f"{workload.name}: Kafka's producer ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")


def produce_plain(workload: Workload, cluster: Cluster, records: int, directory: Path) -> None:
    """Random letters, in batches of the producer's default size."""
    del directory
    producer_perf(workload, cluster, records, "--record-size", str(workload.record_bytes))


def payload_line(chance: random.Random, size: int) -> str:
    """JSON of exactly this size that compresses about as well as real records do."""
    status = chance.choice(("created", "paid", "packed", "shipped", "returned"))
    text = f'{{"order":{chance.randrange(10**9)},"status":"{status}","amount":{chance.randrange(10**5)},"customer":"'
    return text + f"{chance.getrandbits(256):x}"[:size - len(text) - 2] + '"}'


def produce_small(workload: Workload, cluster: Cluster, records: int, directory: Path) -> None:
    """JSON lines, compressed. Random letters would not do: lz4 does not make them smaller."""
    chance = random.Random(workload.name)
    lines = [payload_line(chance, workload.record_bytes) for _ in range(PAYLOAD_LINES)]
    payload = directory / f"{workload.name}.payload"
    payload.write_text("\n".join(lines), encoding="utf-8")
    producer_perf(workload, cluster, records, "--payload-file", str(payload))


def produce_transactions(workload: Workload, cluster: Cluster, records: int, directory: Path) -> None:
    """See transactions.py."""
    del directory
    write_transactions(cluster.client(), workload.name, workload.partitions, records // workload.partitions, workload.record_bytes)


WORKLOADS = {workload.name: workload for workload in (
    Workload("plain-1k", "records of 1 KiB, uncompressed, 8 partitions", 8, 1024, 2_000_000, 500_000, "none", False, produce_plain),
    Workload("small-lz4", "records of 100 bytes, lz4, 8 partitions", 8, 100, 10_000_000, 2_000_000, "lz4", False, produce_small),
    Workload("transactions", "transactions of 100 records of 100 bytes, one in each of 100 partitions, 20 open at any time",
             100, 100, 500_000, 50_000, "none", True, produce_transactions),
)}


def create_topic(cluster: Cluster, workload: Workload) -> None:
    """The workload's topic on the source; retention does not touch it."""
    admin = cluster.admin()
    wanted = NewTopic(workload.name, workload.partitions, replication_factor=1, config={"retention.ms": "-1"})
    admin.create_topics([wanted], request_timeout=REQUEST_SECONDS)[workload.name].result()

    def led() -> bool:
        known = admin.list_topics(timeout=REQUEST_SECONDS).topics.get(workload.name)
        return known is not None and len(known.partitions) == workload.partitions and all(p.leader >= 0 for p in known.partitions.values())

    wait_until(led, f"leaders of {workload.name}", REQUEST_SECONDS)
