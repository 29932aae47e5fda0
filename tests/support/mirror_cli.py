"""kafka-mirror, the command line tool, as a user runs it."""

import json
import os
import subprocess
from pathlib import Path

from mirror_daemon import daemon_binary

CLI_SECONDS = 120


def cli_binary() -> str:
    """The program under test: MIRRORD_CLI, or the one beside the daemon."""
    return os.environ.get("MIRRORD_CLI") or str(Path(daemon_binary()).with_name("kafka-mirror"))


def write_properties(path: Path, settings: dict[str, object]) -> Path:
    """A properties file as Kafka's tools take it."""
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    return path


def run_cli(*arguments: object, seconds: float = CLI_SECONDS) -> subprocess.CompletedProcess:
    """Runs it to its end; standard output and standard error are kept apart."""
    return subprocess.run([cli_binary(), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=seconds, check=False)


def start_cli(*arguments: object) -> subprocess.Popen:
    """Starts it; its standard output and standard error can be read as text."""
    return subprocess.Popen([cli_binary(), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def document(done: subprocess.CompletedProcess) -> dict:
    """What a run with --json wrote."""
    return json.loads(done.stdout)
