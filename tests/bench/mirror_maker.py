"""MirrorMaker 2 as a rival: dedicated mode, a class path by scripts/kafka, settings that make it as fast as we know."""

import atexit
import re
import signal
import subprocess
from pathlib import Path

from kafka_lab import Cluster
from log_reader import READ_COMMITTED, READ_UNCOMMITTED
from rivals import RivalFailed
from workloads import Workload

STOP_SECONDS = 30
# The flags of Kafka's own start script, and the heap that it gives to MirrorMaker 2.
JVM_FLAGS = ["-Xms256m", "-Xmx2g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
             "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"]

# Everything but the copying of records is off. What is not here has its default.
SETTINGS = {
    "clusters": "source, destination",
    "source->destination.enabled": "true",
    "destination->source.enabled": "false",
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "emit.offset-syncs.enabled": "false",
    "sync.topic.acls.enabled": "false",
    "sync.topic.configs.enabled": "false",
    "sync.group.offsets.enabled": "false",
    "refresh.groups.enabled": "false",
    "refresh.topics.interval.seconds": "5",
    # Larger fetches and polls than by default: less work per record.
    "source.consumer.max.poll.records": "10000",
    "source.consumer.max.partition.fetch.bytes": "4194304",
    "source.consumer.receive.buffer.bytes": "1048576",
    # Connect turns idempotence off and allows one request at a time; this is faster and as safe.
    "destination.producer.acks": "all",
    "destination.producer.enable.idempotence": "true",
    "destination.producer.max.in.flight.requests.per.connection": "5",
    "destination.producer.batch.size": "262144",
    "destination.producer.linger.ms": "5",
    "destination.producer.buffer.memory": "134217728",
    "destination.producer.send.buffer.bytes": "1048576",
}


class MirrorMaker:
    """One MirrorMaker 2 process, mirroring one topic. Offsets at the destination are its own."""

    name = "MirrorMaker 2"
    keeps_offsets = False

    def __init__(self, directory: Path, source: Cluster, destination: Cluster, workload: Workload, replication: int, *,
                 classpath: str, tasks: int) -> None:
        directory.mkdir(parents=True)
        self._log_path = directory / "mirror-maker.log"
        self._checked = 0
        settings = {
            **SETTINGS,
            "source.bootstrap.servers": source.bootstrap,
            "destination.bootstrap.servers": destination.bootstrap,
            "source->destination.topics": workload.name,
            "tasks.max": str(tasks),
            **{f"{name}replication.factor": str(replication)
               for name in ("", "heartbeats.topic.", "checkpoints.topic.", "destination.config.storage.",
                            "destination.offset.storage.", "destination.status.storage.")},
            "destination.offset.storage.partitions": "1",
            "destination.status.storage.partitions": "1",
            "source.consumer.isolation.level": READ_COMMITTED if workload.transactional else READ_UNCOMMITTED,
            "destination.producer.compression.type": workload.compression,
        }
        properties = directory / "mm2.properties"
        properties.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()), encoding="utf-8")
        logging = Path(classpath.partition(":")[0]).parent / "log4j2.properties"
        command = ["java", *JVM_FLAGS, f"-Dlog4j2.configurationFile={logging}", "-Dlab.level=INFO", "-cp", classpath,
                   "org.apache.kafka.connect.mirror.MirrorMaker", str(properties)]
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        """The JVM."""
        return self._process.pid

    def check(self) -> None:
        """RivalFailed when it has ended or has logged an error: a refused or lost record fails its task with one."""
        with self._log_path.open("rb") as log:
            log.seek(self._checked)
            fresh = log.read()
        # Up to the last whole line.
        whole = fresh[:fresh.rfind(b"\n") + 1]
        self._checked += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            # One error is normal: the connector for checkpoints is always configured, and refuses because they are off.
            if re.match(r"\[[^]]*\] (ERROR|FATAL) ", line) and "Failed to configure MirrorCheckpointConnector" not in line:
                raise RivalFailed(f"MirrorMaker 2 logged: {line}")
        if self._process.poll() is not None:
            raise RivalFailed(f"MirrorMaker 2 has ended with {self._process.returncode}; the end of its log:\n{self.log_end()}")

    def log_end(self) -> str:
        """Its last warnings and errors, without stack traces and lists of settings."""
        lines = self._log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join([line for line in lines if re.match(r"\[[^]]*\] (WARN|ERROR|FATAL) |Exception", line)][-8:])

    def finish(self) -> None:
        """Ends it; a task that failed until now makes the round fail."""
        self.check()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise RivalFailed(f"MirrorMaker 2 did not end within {STOP_SECONDS} s; the end of its log:\n{self.log_end()}") from late

    def kill(self) -> None:
        """SIGKILL; nothing when it does not run."""
        atexit.unregister(self.kill)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)
