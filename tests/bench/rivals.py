"""The mirrors that are compared: each is started on an empty destination, watched, and stopped."""

from pathlib import Path
from typing import Iterable, Protocol

from daemon_status import errors_of, topics_of
from kafka_lab import Cluster
from mirror_daemon import MirrorDaemon
from workloads import Workload

CONFIRMED_SECONDS = 30


class RivalFailed(Exception):
    """A mirror gave up, or reports an error."""


class Rival(Protocol):
    """One mirror at work on one topic."""

    name: str
    keeps_offsets: bool

    @property
    def pid(self) -> int:
        """The process that mirrors."""

    def check(self) -> None:
        """RivalFailed when it has ended or failed."""

    def finish(self) -> None:
        """All is mirrored: makes sure that nothing has failed, and ends the process in order."""

    def kill(self) -> None:
        """Ends the process, whatever it does."""

    def log_end(self) -> str:
        """What it logged last."""


class Daemon:
    """kafka-mirrord."""

    name = "kafka-mirrord"
    keeps_offsets = True

    def __init__(self, directory: Path, source: Cluster, destination: Cluster, workload: Workload, replication: int, *,
                 settings: Iterable[str] = ()) -> None:
        self._topic = workload.name
        self._daemon = MirrorDaemon(directory, {
            "destination": destination.for_daemon(),
            # A name of its own for each round: nothing of an earlier one is used.
            "mirrors": [{"name": directory.name, "source": source.for_daemon(), "topics.include": [workload.name]}],
            "ownership": "all",
            "http.listen": "127.0.0.1:0",
            "mirror.topic.replication.factor": replication,
            "mirror.state.topic.num.partitions": 5,
            **dict(setting.split("=", 1) for setting in settings),
        }).start()

    @property
    def pid(self) -> int:
        return self._daemon.pid

    def check(self) -> None:
        self._daemon.check_alive()

    def finish(self) -> None:
        def confirmed(status: dict) -> bool:
            return all(p["state"] == "MIRRORING" and p["lag"] == 0 for t in topics_of(status) if t["topic"] == self._topic for p in t["partitions"])

        self._daemon.wait_status(confirmed, "every partition to be MIRRORING without lag", CONFIRMED_SECONDS)
        problems = errors_of(self._daemon.status())
        if problems:
            raise RivalFailed("the daemon has mirrored all but reports errors:\n" + "\n".join(problems))
        self._daemon.stop()

    def kill(self) -> None:
        self._daemon.kill()

    def log_end(self) -> str:
        return "\n".join(self._daemon.log().splitlines()[-8:])
