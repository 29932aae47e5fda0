"""A kafka-mirrord process under test: its configuration, its log, its /status, its end."""

import atexit
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from confluent_kafka.admin import AdminClient

from daemon_status import errors_of, fetch_status, missing_to, partition_of, source_ends, topics_of
from kafka_lab import ROOT
from waiting import NotYet, wait_until

STOP_SECONDS = 10.0  # what the daemon promises
MIRRORED_SECONDS = 60


class DaemonEnded(AssertionError):
    """The daemon is gone; the text holds the end of its log."""


def daemon_binary() -> str:
    """The program under test: MIRRORD_DAEMON, or the release build."""
    return os.environ.get("MIRRORD_DAEMON") or str(ROOT / "build" / "release" / "kafka-mirrord")


class MirrorDaemon:
    """One daemon at a time on one configuration; start() may follow stop() or kill()."""

    def __init__(self, directory: Path, configuration: dict[str, object] | str) -> None:
        self.config_path = directory / "daemon.yaml"
        self.log_path = directory / "daemon.log"
        self._process: subprocess.Popen | None = None
        self._log_start = 0
        directory.mkdir(parents=True, exist_ok=True)
        # JSON is YAML as well.
        text = configuration if isinstance(configuration, str) else json.dumps(configuration, indent=2)
        self.config_path.write_text(text, encoding="utf-8")

    def start(self) -> "MirrorDaemon":
        """Starts the process; does not wait for anything."""
        self._log_start = self.log_path.stat().st_size if self.log_path.exists() else 0
        atexit.register(self.kill)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen([daemon_binary(), "--config", str(self.config_path)], stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        return self

    @property
    def pid(self) -> int:
        """The process of the last start()."""
        return self._process.pid

    def log(self) -> str:
        """What the process of the last start() has logged."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def log_lines(self, *levels: str) -> list[str]:
        """The lines of these levels ("warning", "error", ...) that all starts together have logged."""
        lines = self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return [line for line in lines if len(words := line.split(maxsplit=2)) > 1 and words[1] in levels]

    def check_alive(self) -> None:
        """DaemonEnded when the process is gone."""
        if self._process is None or self._process.poll() is not None:
            code = None if self._process is None else self._process.returncode
            raise DaemonEnded(f"the daemon has ended with {code}; the end of its log:\n{self.log()[-4000:]}")

    def wait_log(self, pattern: str, seconds: float = 30) -> str:
        """Waits for a log line that the regular expression finds something in; returns the line."""

        def line() -> str:
            found = [line for line in self.log().splitlines() if re.search(pattern, line)]
            if not found:
                self.check_alive()
                raise NotYet(f"log:\n{self.log()[-3000:]}")
            return found[0]

        return wait_until(line, f"the log line {pattern!r}", seconds)

    def wait_exit(self, seconds: float = 10) -> int:
        """Waits until the process ends by itself; its exit code."""
        return self._process.wait(seconds)

    def status(self) -> dict:
        """The document of /status. ConnectionError until the daemon listens."""
        self.check_alive()
        port = re.search(r" started .*http=127\.0\.0\.1:(\d+)", self.log())
        if not port:
            raise ConnectionError("the daemon does not listen yet")
        return fetch_status(f"http://127.0.0.1:{port[1]}/status")

    def wait_status(self, condition, what: str, seconds: float = MIRRORED_SECONDS):
        """Waits until `condition(status)` returns something true, and returns that."""

        def look():
            status = self.status()
            value = condition(status)
            if not value:
                raise NotYet(f"errors {errors_of(status)}, log:\n{self.log()[-1500:]}")
            return value

        return wait_until(look, what, seconds)

    def wait_error(self, *patterns: str, seconds: float = 30) -> str:
        """Waits for an error in /status that all these regular expressions find something in; returns it."""

        def found(status: dict) -> str | None:
            return next((e for e in errors_of(status) if all(re.search(p, e) for p in patterns)), None)

        return self.wait_status(found, f"an error with {patterns} in /status", seconds)

    def wait_partition(self, topic: str, partition: int, seconds: float = MIRRORED_SECONDS, **fields: object) -> dict:
        """Waits until a partition's entry in /status has these values; returns the entry."""

        def matches(status: dict) -> dict | None:
            entry = partition_of(status, topic, partition)
            return entry if entry and all(entry[key] == value for key, value in fields.items()) else None

        return self.wait_status(matches, f"{topic}-{partition} with {fields}", seconds)

    def wait_records(self, topic: str, seconds: float = MIRRORED_SECONDS) -> None:
        """Waits until this process has mirrored something of each partition of a topic."""

        def flowing(status: dict) -> bool:
            return any(t["topic"] == topic and t["partitions"] and all(p["records"] > 0 for p in t["partitions"]) for t in topics_of(status))

        self.wait_status(flowing, f"records of {topic} to flow", seconds)

    def wait_mirrored(self, source: AdminClient, topics: list[str], seconds: float = MIRRORED_SECONDS) -> None:
        """Waits until the destination has all that the source holds at the moment of the call."""
        wanted = source_ends(source, topics)

        def mirrored(status: dict) -> bool:
            lacking = missing_to(status, wanted)
            if lacking:
                raise NotYet(f"{lacking[:5]}, errors {errors_of(status)}, log:\n{self.log()[-1500:]}")
            return True

        self.wait_status(mirrored, f"all of {topics} to be mirrored", seconds)

    def stop(self) -> float:
        """SIGTERM; the process must end in order, with exit code 0, in time. Returns the seconds that it took."""
        self.check_alive()
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(STOP_SECONDS + 5)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the daemon did not end within {STOP_SECONDS + 5} s after SIGTERM:\n{self.log()[-3000:]}") from None
        took = time.monotonic() - began
        if code != 0 or took > STOP_SECONDS:
            raise AssertionError(f"the daemon ended with {code} after {took:.1f} s:\n{self.log()[-3000:]}")
        return took

    def ask_to_stop(self) -> None:
        """SIGTERM; does not wait for the end."""
        self.check_alive()
        self._process.send_signal(signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP: the process keeps its connections and does nothing until resume()."""
        self.check_alive()
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL; nothing when it does not run."""
        atexit.unregister(self.kill)
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)
