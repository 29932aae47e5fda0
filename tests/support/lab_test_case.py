"""What the integration tests share: a lab for each class, daemons that are stopped after each test, small writers."""

import contextlib
import io
import itertools
import shutil
import signal
import sys
import threading
import unittest

from confluent_kafka.admin import AdminClient, NewTopic

from compare_topics import Comparer, compare_and_print
from kafka_lab import ROOT, Cluster, KafkaLab
from mirror_daemon import MirrorDaemon
from record_writers import flush, make_producer, send
from waiting import wait_until

# What a destination needs for transactions; and no compaction of its own, so that all offsets of copies can be compared.
DESTINATION_OPTIONS = ["--set", "transaction.partition.verification.enable=false", "--set", "log.cleaner.min.compaction.lag.ms=86400000"]
REFRESH = "500ms"
REQUEST_SECONDS = 30
FAILED = ROOT / ".cache" / "integration" / "failed"


class LabTestCase(unittest.TestCase):
    """Clusters `source` and `destination` for the whole class; subclasses say how they are started."""

    SOURCE: list[str] = []
    DESTINATION: list[str] = DESTINATION_OPTIONS
    source: Cluster
    destination: Cluster
    lab: KafkaLab
    _numbers = itertools.count()

    @classmethod
    def setUpClass(cls) -> None:
        # A killed test must still stop its clusters: this runs what is registered with atexit.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        cls.lab = KafkaLab()
        cls.addClassCleanup(cls.lab.stop)
        cls.source, cls.destination = cls.lab.start_together(source=cls.SOURCE, destination=cls.DESTINATION)

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """A test that fails keeps the logs of its daemons: the lab's directory is removed."""
        self._daemons: list[MirrorDaemon] = []
        bad = len(result.failures) + len(result.errors) if result else 0
        done = super().run(result)
        if result and len(result.failures) + len(result.errors) > bad:
            for daemon in self._daemons:
                kept = FAILED / f"{self.id().rpartition('.')[2]}.{daemon.log_path.parent.name}.log"
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(daemon.log_path, kept)
                print(f"the daemon's log is kept: {kept}", file=sys.stderr)
        return done

    def configuration(self, topics: list[str], mirror: str = "", **settings: object) -> dict[str, object]:
        """A configuration that mirrors these topics; further settings by keyword, '_' stands for '.'."""
        return {
            "destination": self.destination.for_daemon(),
            "mirrors": [{"name": mirror or self.unique("mirror"), "source": self.source.for_daemon(), "topics.include": topics}],
            "ownership": "all",
            "http.listen": "127.0.0.1:0",
            "mirror.metadata.refresh.interval.ms": REFRESH,
            "mirror.state.topic.num.partitions": 5,
            **{key.replace("_", "."): value for key, value in settings.items()},
        }

    def daemon(self, configuration: dict[str, object] | str) -> MirrorDaemon:
        """A daemon, not started yet, that is killed after the test."""
        made = MirrorDaemon(self.lab.directory / self.unique("daemon"), configuration)
        self._daemons.append(made)
        self.addCleanup(made.kill)
        return made

    def mirror(self, topics: list[str], **settings: object) -> MirrorDaemon:
        """A started daemon that mirrors these topics."""
        return self.daemon(self.configuration(topics, **settings)).start()

    def unique(self, what: str) -> str:
        """A name that nothing else in this process has."""
        return f"{what}-{next(self._numbers)}"

    def create_topic(self, cluster: Cluster, name: str = "", partitions: int = 1, **config: str) -> str:
        """A new topic, with leaders; '_' in config names stands for '.'. Returns its name."""
        name = name or self.unique("topic")
        admin = cluster.admin()
        wanted = NewTopic(name, partitions, replication_factor=1, config={key.replace("_", "."): value for key, value in config.items()})
        admin.create_topics([wanted], request_timeout=REQUEST_SECONDS)[name].result()
        wait_until(lambda: led_partitions(admin, name) == partitions, f"leaders of {name}", REQUEST_SECONDS)
        return name

    def write(self, cluster: Cluster, topic: str, values: list[bytes], partition: int = 0, **settings: object) -> None:
        """Writes records with a key of their own, acknowledged when this returns."""
        producer = make_producer(cluster.client(), **settings)
        for number, value in enumerate(values):
            send(producer, topic, partition, key=f"{number}".encode(), value=value)
        flush(producer)

    def assert_equal_topics(self, topics: list[str]) -> None:
        """Fails with the whole table unless librdkafka finds both sides equal."""
        table = io.StringIO()
        with Comparer(self.source.client(), self.destination.client()) as comparer, contextlib.redirect_stdout(table):
            equal = compare_and_print(comparer, topics)
        self.assertTrue(equal, "\n" + table.getvalue())


def led_partitions(admin: AdminClient, topic: str) -> int:
    """How many partitions of a topic have a leader."""
    known = admin.list_topics(timeout=REQUEST_SECONDS).topics.get(topic)
    return sum(1 for p in known.partitions.values() if p.leader >= 0) if known else 0
