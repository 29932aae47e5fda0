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
from rivals import Daemon

SHORT_SECONDS = 1.0
PROBLEMS_SHOWN = 12


@dataclasses.dataclass
class Round:
    """One mirror's work on one topic. Round 0 is a warm-up."""

    workload: str
    replication: int
    rival: str
    number: int
    records: int
    measured: Measurement | None = None
    note: str = ""
    problems: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Figure:
    """A column of the table."""

    name: str
    key: str
    form: str
    more_is_better: bool

    def of(self, measured: Measurement) -> float:
        """Its value."""
        return getattr(measured.steady, self.key) if hasattr(measured.steady, self.key) else getattr(measured, self.key)


FIGURES = (
    Figure("records/s", "records_per_second", ",.0f", True),
    Figure("payload MB/s", "megabytes_per_second", ",.1f", True),
    Figure("mirror CPU-s/M", "cpu_seconds_per_million", ",.2f", False),
    Figure("broker CPU-s/M", "broker_cpu_seconds_per_million", ",.2f", False),
    Figure("peak RSS MB", "peak_rss_megabytes", ",.0f", False),
)


def machine() -> dict[str, object]:
    """What the figures were taken on, and how busy it is with other things."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cpu": models[0] if models else platform.machine(), "processors": os.cpu_count(), "memory_gb": round(memory / 1e9, 1),
            "kernel": platform.release(), "load_average": round(os.getloadavg()[0], 1)}


def spread(values: list[float], form: str) -> str:
    """The median, and lowest and highest where there are several."""
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}}..{max(values):{form}})"


def advantage(rounds: list[Round], figure: Figure) -> list[float]:
    """How many times better the daemon was than the other mirror, for each round that both have done well."""
    pairs: dict[int, dict[bool, float]] = {}
    for done in rounds:
        if done.measured and not done.problems:
            pairs.setdefault(done.number, {})[done.rival == Daemon.name] = figure.of(done.measured)
    found = []
    for _, pair in sorted(pairs.items()):
        if len(pair) == 2:
            better, worse = (pair[True], pair[False]) if figure.more_is_better else (pair[False], pair[True])
            # Less than a clock tick of CPU time can be seen as none.
            found.append(better / worse if worse else float("inf"))
    return found


class Report:
    """Collects rounds."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._began = time.monotonic()
        self._arguments = arguments
        self._rounds: list[Round] = []
        self._date = datetime.datetime.now().astimezone()
        self._machine = machine()

    def say(self, text: str) -> None:
        """A line about what goes on."""
        print(f"[{time.monotonic() - self._began:5.0f} s] {text}", flush=True)

    def add(self, done: Round) -> None:
        """Takes over a round and prints its line."""
        self._rounds.append(done)
        what = f"round {done.number}" if done.number else "warm-up"
        line = f"{done.workload} RF {done.replication} {what} {done.rival:<14}"
        if done.measured:
            values = [f"{figure.of(done.measured):{figure.form}} {figure.name}" for figure in FIGURES]
            seconds = done.measured.steady.seconds
            short = ": TOO SHORT, take more records" if seconds < SHORT_SECONDS else ""
            line += f" {', '.join(values)} (in {seconds:.1f} s{short})"
        self.say(f"{line} {done.note}".rstrip())
        for problem in done.problems[:PROBLEMS_SHOWN]:
            self.say(f"    FAILED: {problem}")

    def finish(self) -> int:
        """The table and the JSON file; returns the exit code."""
        groups: dict[tuple[str, int], list[Round]] = {}
        for done in self._rounds:
            groups.setdefault((done.workload, done.replication), []).append(done)
        print(f"\n{self._date:%Y-%m-%d %H:%M}, {self._machine['cpu']}, {self._machine['processors']} processors, {self._machine['memory_gb']} GB, "
              f"load average {self._machine['load_average']} before the run; mirrors and brokers on this machine.")
        print("Median of the rounds (lowest..highest). CPU-s/M: CPU seconds per million records. Advantage: how many times better the daemon is, round by round.\n")
        row = "{:<13} {:>2} {:<14}" + " {:>26}" * len(FIGURES)
        print(row.format("workload", "RF", "mirror", *(figure.name for figure in FIGURES)).rstrip())
        for (workload, replication), rounds in groups.items():
            for name in dict.fromkeys(done.rival for done in rounds):
                good = [done.measured for done in rounds if done.rival == name and done.measured and not done.problems]
                if good:
                    print(row.format(workload, replication, name, *(spread([f.of(m) for m in good], f.form) for f in FIGURES)))
            advantages = [advantage(rounds, figure) for figure in FIGURES]
            if all(advantages):
                print(row.format("", "", "  advantage", *(f"{spread(values, ',.2f')} x" for values in advantages)))
        path = self._write(groups)
        failed = [done for done in self._rounds if done.problems]
        print(f"\n{len(self._rounds) - len(failed)} of {len(self._rounds)} rounds ended with a copy equal to the source; all figures: {path}")
        return 1 if failed or not self._rounds else 0

    def _write(self, groups: dict[tuple[str, int], list[Round]]) -> Path:
        path = self._arguments.json or ROOT / ".cache" / "bench" / f"{self._date:%Y%m%d-%H%M%S}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        version = subprocess.run([daemon_binary(), "--version"], capture_output=True, text=True, check=False).stdout.strip()
        advantages = [{"workload": workload, "replication": replication, **{figure.key: advantage(rounds, figure) for figure in FIGURES}}
                      for (workload, replication), rounds in groups.items()]
        document = {"version": 1, "date": self._date.isoformat(timespec="seconds"), "machine": self._machine, "daemon": version,
                    "daemon_settings": self._arguments.set, "advantages": advantages, "rounds": [dataclasses.asdict(done) for done in self._rounds]}
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        return path
