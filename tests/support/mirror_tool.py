"""kafka-mirror as an operator calls it."""

import os
import subprocess
from typing import NamedTuple

from kafka_lab import ROOT, Cluster
from mirror_daemon import daemon_binary

COMMAND_SECONDS = 120


class ToolAnswer(NamedTuple):
    """How one call of the tool ended."""

    code: int
    out: str
    err: str


def tool_binary() -> str:
    """The program under test: MIRRORD_TOOL, or the one beside the daemon."""
    return os.environ.get("MIRRORD_TOOL") or str((ROOT / daemon_binary()).parent / "kafka-mirror")


class MirrorTool:
    """Calls for one destination cluster."""

    def __init__(self, destination: Cluster) -> None:
        self._destination = destination

    def run(self, *arguments: str) -> ToolAnswer:
        """One call, without a terminal."""
        command = [tool_binary(), *arguments, "--bootstrap-server", self._destination.bootstrap]
        security = self._destination.security()
        if security:
            config = self._destination.directory / "operator.properties"
            config.write_text("".join(f"{key}={value}\n" for key, value in security.items()), encoding="utf-8")
            command += ["--command-config", str(config)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        return ToolAnswer(done.returncode, done.stdout, done.stderr)

    def succeed(self, *arguments: str) -> str:
        """One call that must end with 0; its standard output."""
        answer = self.run(*arguments)
        if answer.code != 0:
            raise AssertionError(f"kafka-mirror {' '.join(arguments)} ended with {answer.code}:\n{answer.out}{answer.err}")
        return answer.out
