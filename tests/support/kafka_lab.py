"""Real Kafka clusters for a test, through scripts/kafka, in a directory of their own; always stopped at the end."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka.admin import AdminClient

from client_options import client_settings
from waiting import wait_until

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "scripts" / "kafka"
COMMAND_SECONDS = 180


class Cluster:
    """A running cluster."""

    def __init__(self, lab: "KafkaLab", name: str) -> None:
        self._lab = lab
        self.name = name
        self.directory = lab.directory / name
        self.bootstrap = (self.directory / "bootstrap").read_text(encoding="utf-8").strip()
        self._settings = dict(line.partition("=")[::2] for line in (self.directory / "settings").read_text(encoding="utf-8").splitlines())

    def proxied_port(self, broker: int) -> int:
        """Where a broker of a cluster started with --proxied takes what comes through the proxy."""
        return int(self._settings[f"port.proxied.{broker}"])

    def security(self, user: str = "admin", mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """What a client needs beside the address, in the words that librdkafka and the daemon share."""
        protocol = self._settings["security"]
        wanted = {}
        if protocol != "PLAINTEXT":
            wanted["security.protocol"] = protocol
        if protocol.endswith("SSL"):
            wanted["ssl.ca.location"] = str(self.directory / "ca.pem")
        if protocol.startswith("SASL"):
            wanted.update({"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": f"{user}-secret"})
        return wanted

    def client(self, user: str = "admin") -> dict[str, object]:
        """Settings of a test client."""
        return {**client_settings(self.bootstrap), **self.security(user)}

    def for_daemon(self, user: str = "mirror", **security: str) -> dict[str, str]:
        """The section of this cluster in the daemon's configuration; more by keyword, '_' stands for '.'."""
        return {"bootstrap.servers": self.bootstrap, **self.security(user), **{key.replace("_", "."): value for key, value in security.items()}}

    def admin(self) -> AdminClient:
        """A new admin client. Keep it while its futures are awaited: they end with it."""
        return AdminClient(self.client())

    def tool(self, *arguments: str) -> str:
        """Runs one of Kafka's own tools against the cluster; returns what it printed."""
        return self._lab.command("run", "--cluster", self.name, *arguments)

    def kill(self, broker: int = 1) -> None:
        """SIGKILL to one broker."""
        self._lab.command("kill", self.name, str(broker))

    def restart(self, broker: int = 1) -> None:
        """One broker again, on its data and its port."""
        self._lab.command("restart", self.name, str(broker))

    def pause(self, broker: int) -> None:
        """SIGSTOP: the broker hangs with all its connections until resume()."""
        self._signal(str(broker), signal.SIGSTOP)

    def resume(self, broker: int) -> None:
        """SIGCONT to a broker."""
        self._signal(str(broker), signal.SIGCONT)

    def kill_all(self) -> None:
        """SIGKILL to all brokers and the controller at once, as when the power goes."""
        nodes = sorted(path.name for path in (self.directory / "nodes").iterdir())
        for node in nodes:
            self._signal(node, signal.SIGKILL)
        wait_until(lambda: not any(self._pid(node) for node in nodes), f"the end of all processes of {self.name}", 30)

    def restart_dead(self) -> None:
        """Everything that does not run again: the controller, which the brokers need, then one broker after the other."""
        for node in sorted((path.name for path in (self.directory / "nodes").iterdir()), key=lambda name: (name != "controller", name)):
            if self._pid(node) is None:
                self._lab.command("restart", self.name, node)

    def _signal(self, node: str, number: signal.Signals) -> None:
        pid = self._pid(node)
        if pid is None:
            raise RuntimeError(f"cluster {self.name}: node {node} does not run")
        os.kill(pid, number)

    def _pid(self, node: str) -> int | None:
        """The node's process, if it runs and is the one that was started."""
        try:
            pid, started = (self.directory / "nodes" / node / "pid").read_text(encoding="utf-8").split()
            # Fields 3 and 22 of proc(5)'s stat; the process's name, in parentheses, may hold blanks.
            stat = Path("/proc", pid, "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except FileNotFoundError:
            return None
        return int(pid) if stat[0] != "Z" and stat[19] == started else None


class KafkaLab:
    """The clusters of one test file. stop() ends them all; so does the end of the process."""

    def __init__(self) -> None:
        parent = ROOT / ".cache" / "integration"
        parent.mkdir(parents=True, exist_ok=True)
        self.directory = Path(tempfile.mkdtemp(prefix="lab.", dir=parent))
        atexit.register(self.stop)

    def command(self, *arguments: str) -> str:
        """scripts/kafka in this lab's directory; its standard output."""
        environment = {**os.environ, "KAFKA_LAB_DIR": str(self.directory)}
        done = subprocess.run([SCRIPT, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=COMMAND_SECONDS, check=False)
        if done.returncode:
            raise RuntimeError(f"scripts/kafka {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, name: str, *options: str) -> Cluster:
        """A cluster of one broker unless the options say otherwise (scripts/kafka start --help)."""
        self.command("start", name, "--port", "0", *options)
        return Cluster(self, name)

    def start_together(self, **options: list[str]) -> list[Cluster]:
        """Several at once: NAME=[options, ...]."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda item: self.start(item[0], *item[1]), options.items()))

    def free_port(self) -> int:
        """A port that nobody listens on."""
        return int(self.command("ports", "1"))

    def stop(self) -> None:
        """Ends all clusters and removes the directory. May be called again."""
        atexit.unregister(self.stop)
        if self.directory.exists():
            self.command("stop", "--all")
            shutil.rmtree(self.directory, ignore_errors=True)
