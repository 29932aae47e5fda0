#!/usr/bin/env python3
"""Compares kafka-mirrord with MirrorMaker 2: same data, same brokers, in turns.

Each round mirrors one topic into a destination that holds nothing of it, first by one, then by the other; the next round
begins with the other one. After each round the copy is compared with the source by Kafka's own consumer. Figures of one
run may be compared with each other, those of different runs not: machines change from minute to minute.

What is measured begins when a quarter of a topic stands at the destination and ends when all of it does, for both alike. So
the start of a process, its connections, the creation of the topic and the time in which a JVM compiles are left out; the JSON
file has the figures from the first record on, too. The destination's brokers are warmed up by rounds that do not count.
"""

import argparse
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Callable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kafka_lab import Cluster, KafkaLab
from log_digest import DigestFailed, PartitionDigest, differences, digest_topic
from log_reader import partitions_of, read_ends
from measurement import Progress, Stalled, TooFew, measure, node_pids, peak_rss_megabytes, watch
from mirror_daemon import daemon_binary
from mirror_maker import MirrorMaker
from report import Report, Round
from rivals import Daemon, Rival, RivalFailed
from waiting import wait_until
from workloads import WORKLOADS, ProduceFailed, Workload, create_topic

REQUEST_SECONDS = 30
WARM_UP_ROUNDS_MAX = 6
WARM_UP_SETTLED = 0.85  # of the cost of the round before
KEPT_TOPICS = ("__consumer_offsets", "__transaction_state")
# A heap for brokers that is not the bottleneck, and Kafka's own default threads.
BROKER_FLAGS = "-Xms1g -Xmx1g"
BROKER_OPTIONS = ["--set", "num.network.threads=3", "--set", "num.io.threads=8", "--set", "log.segment.delete.delay.ms=1000"]
DESTINATION_OPTIONS = ["--set", "transaction.partition.verification.enable=false"]


class Source:
    """The source cluster and what is in it."""

    def __init__(self, cluster: Cluster, classpath: str) -> None:
        self.cluster = cluster
        self.digests: dict[str, list[PartitionDigest]] = {}
        self.offsets: dict[str, int] = {}
        self._classpath = classpath

    def fill(self, workload: Workload, records: int, directory: Path) -> None:
        """Writes the workload's data and reads it back."""
        create_topic(self.cluster, workload)
        workload.produce(workload, self.cluster, records, directory)
        self.digests[workload.name] = digest_topic(self.cluster, workload.name, workload.isolation_levels, self._classpath)
        found = sum(d.records for d in self.digests[workload.name] if d.isolation == workload.isolation_levels[-1])
        if found != records:
            raise ProduceFailed(f"{workload.name}: {found:,} of {records:,} records are on the source")
        admin = self.cluster.admin()
        self.offsets[workload.name] = sum(e.leo for e in read_ends(admin, workload.name, partitions_of(admin, workload.name)).values())


def remove_topics(admin: AdminClient) -> None:
    """Leaves nothing of an earlier round on the destination but the brokers' own topics."""

    def others() -> list[str]:
        return [name for name in admin.list_topics(timeout=REQUEST_SECONDS).topics if name not in KEPT_TOPICS]

    names = others()
    if names:
        for future in admin.delete_topics(names, request_timeout=REQUEST_SECONDS).values():
            future.result()
        wait_until(lambda: not others(), "the topics of the last round to be deleted", REQUEST_SECONDS)


class Bench:
    """One run."""

    def __init__(self, arguments: argparse.Namespace, lab: KafkaLab, report: Report) -> None:
        self._arguments = arguments
        self._lab = lab
        self._report = report
        self._classpath = lab.command("classpath").strip()
        self._rounds = 0
        self._daemon = partial(Daemon, settings=arguments.set)
        self._rivals: list[Callable[..., Rival]] = [self._daemon]
        if not arguments.no_mm2:
            self._report.say("fetching MirrorMaker 2 unless it is there")
            self._rivals.append(partial(MirrorMaker, classpath=lab.command("classpath", "--mirror-maker").strip(), tasks=arguments.mm2_tasks))

    def run(self) -> None:
        """Everything."""
        workloads = [WORKLOADS[name] for name in self._arguments.only or WORKLOADS]
        self._report.say("starting the source cluster")
        source = Source(self._lab.start("source", *BROKER_OPTIONS), self._classpath)
        for workload in workloads:
            records = self._records(workload)
            self._report.say(f"writing {records:,} records: {workload.name}, {workload.text}")
            source.fill(workload, records, self._lab.directory)
        for replication in self._arguments.replication:
            self._run_replication(source, workloads, replication)

    def _records(self, workload: Workload) -> int:
        wanted = self._arguments.records or (workload.quick_records if self._arguments.quick else workload.records) * self._arguments.scale
        # Whole transactions.
        return max(1, int(wanted) // workload.partitions) * workload.partitions if workload.transactional else int(wanted)

    def _run_replication(self, source: Source, workloads: list[Workload], replication: int) -> None:
        name = f"destination-{replication}"
        self._report.say(f"starting the destination cluster: {replication} broker(s), replication factor {replication}")
        in_sync = ["--brokers", "3", "--set", "min.insync.replicas=2"] if replication == 3 else []
        destination = self._lab.start(name, *BROKER_OPTIONS, *DESTINATION_OPTIONS, *in_sync)
        for workload in workloads:
            if not self._warm_up(source, destination, workload, replication):
                continue
            for number in range(1, self._arguments.rounds + 1):
                order = self._rivals if number % 2 else self._rivals[::-1]
                for rival in order:
                    self._report.add(self._round(rival, source, destination, workload, replication, number))
        self._lab.command("stop", name)

    def _warm_up(self, source: Source, destination: Cluster, workload: Workload, replication: int) -> bool:
        """Rounds that do not count, until what a record costs the brokers falls no more: their JVMs compile for a while.

        False when one went wrong.
        """
        before = None
        for number in range(1, WARM_UP_ROUNDS_MAX + 1):
            done = self._round(self._daemon, source, destination, workload, replication, number=0)
            if done.problems:
                self._report.add(done)
                return False
            if not done.measured:
                break
            cost = done.measured.steady.broker_cpu_seconds_per_million
            self._report.say(f"warm-up {number} for {workload.name}: {cost:.2f} broker CPU-s/M")
            if before is not None and cost > before * WARM_UP_SETTLED:
                break
            before = cost
        return True

    def _round(self, start: Callable[..., Rival], source: Source, destination: Cluster, workload: Workload, replication: int, number: int) -> Round:
        self._rounds += 1
        admin = destination.admin()
        remove_topics(admin)
        records = self._records(workload)
        started = time.monotonic()
        rival = start(self._lab.directory / f"round-{self._rounds}", source.cluster, destination, workload, replication)
        done = Round(workload.name, replication, rival.name, number, records)
        try:
            wanted = source.offsets[workload.name] if rival.keeps_offsets else records
            looks = watch(Progress(admin, workload.name, workload.partitions), wanted, rival.pid, node_pids(destination), rival.check)
            peak_rss = peak_rss_megabytes(rival.pid)
            rival.finish()
            try:
                done.measured = measure(looks, started, records, workload.record_bytes, peak_rss)
            except TooFew as problem:
                done.note = str(problem)
            copy = digest_topic(destination, workload.name, workload.isolation_levels, self._classpath)
            done.problems = differences(source.digests[workload.name], copy, rival.keeps_offsets)
        except (RivalFailed, Stalled, DigestFailed, AssertionError, KafkaException, ValueError) as problem:
            done.problems = [f"{type(problem).__name__}: {problem}", *rival.log_end().splitlines()]
        finally:
            rival.kill()
        return done


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="workloads:\n" + "\n".join(f"  {w.name:<14}{w.text}" for w in WORKLOADS.values()) +
                                     "\n\nExit code: 0 all copies are equal, 1 one is not or a mirror failed, 2 wrong usage.")
    parser.add_argument("--quick", action="store_true", help="less data, one round, replication factor 1: about two minutes")
    parser.add_argument("--only", action="append", choices=list(WORKLOADS), metavar="WORKLOAD", help="this workload only; repeatable")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each mirror, workload and replication factor (default 3)")
    parser.add_argument("--replication", type=int, action="append", choices=(1, 3), metavar="1|3",
                        help="replication factor and brokers of the destination; repeatable (default both)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--records", type=int, metavar="N", help="records of each workload")
    size.add_argument("--scale", type=float, default=1, metavar="F", help="F times the records of the preset (default 1)")
    parser.add_argument("--daemon", type=Path, metavar="PATH", help="this kafka-mirrord (default: MIRRORD_DAEMON, or the release build)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a further setting of the daemon, such as lanes=1; repeatable")
    parser.add_argument("--no-mm2", action="store_true", help="kafka-mirrord alone")
    parser.add_argument("--mm2-tasks", type=int, default=2, metavar="N",
                        help="tasks of MirrorMaker 2, each with a consumer and a producer; the default, 2, is what two processors can run")
    parser.add_argument("--json", type=Path, metavar="PATH", help="where the figures go (default: .cache/bench/TIME.json)")
    found = parser.parse_args(arguments)
    found.rounds = found.rounds or (1 if found.quick else 3)
    found.replication = found.replication or ([1] if found.quick else [1, 3])
    for name in ("rounds", "records", "scale"):
        if (getattr(found, name) or 1) <= 0:
            parser.error(f"--{name} must be above 0")
    if any("=" not in setting for setting in found.set):
        parser.error("--set wants KEY=VALUE")
    if found.daemon:
        os.environ["MIRRORD_DAEMON"] = str(found.daemon.absolute())
    if not os.access(daemon_binary(), os.X_OK):
        parser.error(f"there is no program {daemon_binary()}: build the release preset, or say --daemon")
    return found


def main() -> int:
    arguments = parse()
    os.environ.setdefault("KAFKA_LAB_JVM_FLAGS", BROKER_FLAGS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    report = Report(arguments)
    lab = KafkaLab()
    interrupted = False
    try:
        Bench(arguments, lab, report).run()
    except KeyboardInterrupt:
        interrupted = True
    except (ProduceFailed, DigestFailed, RuntimeError, KafkaException) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    finally:
        # A second Ctrl-C must not leave brokers behind.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        report.say("stopping everything")
        lab.stop()
    code = report.finish()
    return 130 if interrupted else code


if __name__ == "__main__":
    sys.exit(main())
