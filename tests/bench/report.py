"""The figures of a run: lines as they come, a table at the end, and a JSON file."""

import argparse
import dataclasses
import datetime
import json
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

from kafka_lab import ROOT
from measurement import Measurement
from mirror_daemon import daemon_binary

SHORT_SECONDS = 1.0


@dataclasses.dataclass
class Round:
    """One mirror's work on one topic. Round 0 is the warm-up."""

    workload: str
    replication: int
    rival: str
    number: int
    records: int
    measured: Measurement | None = None
    problems: list[str] = dataclasses.field(default_factory=list)


def machine() -> dict[str, object]:
    """What the figures were taken on."""
    models = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cpu": models[0] if models else platform.machine(), "processors": os.cpu_count(), "memory_gb": round(memory / 1e9, 1),
            "kernel": platform.release()}


def spread(values: list[float], form: str = ",.0f") -> str:
    """Median, and lowest and highest where they differ."""
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}}..{max(values):{form}})"


class Report:
    """Collects rounds."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._began = time.monotonic()
        self._arguments = arguments
        self._rounds: list[Round] = []
        self._date = datetime.datetime.now().astimezone()

    def say(self, text: str) -> None:
        """A line about what goes on."""
        print(f"[{time.monotonic() - self._began:5.0f} s] {text}", flush=True)

    def add(self, done: Round) -> None:
        """Takes over a round and prints its line."""
        self._rounds.append(done)
        where = f"{done.workload} RF {done.replication} round {done.number} {done.rival:<14}"
        if done.measured:
            m = done.measured
            short = "  TOO SHORT to rely on" if m.seconds < SHORT_SECONDS else ""
            where += (f" {m.records_per_second:>11,.0f} rec/s {m.megabytes_per_second:>7,.1f} MB/s {m.cpu_seconds_per_million:>7.2f} CPU-s/M"
                      f" {m.broker_cpu_seconds_per_million:>7.2f} broker CPU-s/M {m.peak_rss_megabytes:>6,.0f} MB, {m.seconds:.1f} s{short}")
        self.say(where)
        for problem in done.problems[:10]:
            self.say(f"    FAILED: {problem}")

    def finish(self) -> int:
        """The table and the JSON file; returns the exit code."""
        groups: dict[tuple[str, int], dict[str, list[Measurement]]] = {}
        for done in self._rounds:
            if done.measured and not done.problems:
                groups.setdefault((done.workload, done.replication), {}).setdefault(done.rival, []).append(done.measured)
        self._print(groups)
        path = self._write(groups)
        failed = [done for done in self._rounds if done.problems]
        print(f"\n{len(self._rounds) - len(failed)} of {len(self._rounds)} rounds ended with a copy equal to the source; all figures: {path}")
        return 1 if failed or not self._rounds else 0

    def _print(self, groups: dict[tuple[str, int], dict[str, list[Measurement]]]) -> None:
        about = machine()
        print(f"\n{self._date:%Y-%m-%d %H:%M}, {about['cpu']}, {about['processors']} processors, {about['memory_gb']} GB; all brokers on this machine.")
        print("Median of the rounds (lowest..highest). CPU-s/M: CPU seconds per million records.\n")
        row = "{:<13} {:>2} {:<14} {:>30} {:>22} {:>22} {:>20} {:>16}"
        print(row.format("workload", "RF", "mirror", "records/s", "payload MB/s", "mirror CPU-s/M", "broker CPU-s/M", "peak RSS MB"))
        for (workload, replication), rivals in groups.items():
            for rival, measured in rivals.items():
                print(row.format(workload, replication, rival, spread([m.records_per_second for m in measured]),
                                 spread([m.megabytes_per_second for m in measured], ",.1f"),
                                 spread([m.cpu_seconds_per_million for m in measured], ".2f"),
                                 spread([m.broker_cpu_seconds_per_million for m in measured], ".2f"),
                                 spread([m.peak_rss_megabytes for m in measured])))

    def _write(self, groups: dict[tuple[str, int], dict[str, list[Measurement]]]) -> Path:
        path = self._arguments.json or ROOT / ".cache" / "bench" / f"{self._date:%Y%m%d-%H%M%S}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([daemon_binary(), "--version"], capture_output=True, text=True, check=False).stdout.strip()
        document = {"version": 1, "date": self._date.isoformat(timespec="seconds"), "machine": machine(), "daemon": version,
                    "rounds": [dataclasses.asdict(done) for done in self._rounds]}
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        return path
