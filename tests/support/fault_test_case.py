"""What the tests of ambiguity share: a destination whose brokers the daemon reaches through a fault proxy only."""

import socket
from typing import Callable

from confluent_kafka import Producer, TopicPartition

from fault_proxy import LOOPBACK, FaultProxy, read_frame, write_frame
from faults import Fault
from kafka_frames import Message, decode_answer, new_request, partitions_of
from kafka_layouts import Api
from lab_test_case import DESTINATION_OPTIONS, REQUEST_SECONDS, LabTestCase
from leadership import leaders_of, move_leaders
from log_reader import read_ends
from mirror_daemon import MirrorDaemon
from record_writers import FLUSH_SECONDS, flush, make_producer, send
from waiting import wait_until

RECORDS_PER_BATCH = 3


class FaultTestCase(LabTestCase):
    """All other clients go past the proxy, so no fault can bend what they see."""

    BROKERS = 1
    REQUEST_TIMEOUT = "2s"  # of the daemon on the destination: a silent connection is given up after 3 s
    DESTINATION_SETTINGS: list[str] = []
    proxy: FaultProxy

    @classmethod
    def setUpClass(cls) -> None:
        cls.proxy = FaultProxy(cls.BROKERS)
        cls.addClassCleanup(cls.proxy.stop)
        ports = ",".join(str(port) for port in cls.proxy.ports)
        settings = [option for setting in cls.DESTINATION_SETTINGS for option in ("--set", setting)]
        cls.DESTINATION = [*DESTINATION_OPTIONS, "--brokers", str(cls.BROKERS), "--proxied", ports, *settings]
        super().setUpClass()
        cls.proxy.start([cls.destination.proxied_port(broker) for broker in range(1, cls.BROKERS + 1)])
        cls.plain_producer = make_producer(cls.source.client())
        cls.transactional_producer = make_producer(cls.source.client(), transactional_id="faults")
        cls.transactional_producer.init_transactions(FLUSH_SECONDS)

    def setUp(self) -> None:
        self.addCleanup(self.proxy.faults.clear)

    def configuration(self, topics: list[str], mirror: str = "", **settings: object) -> dict[str, object]:
        configuration = super().configuration(topics, mirror, **settings)
        configuration["destination"] = {"bootstrap.servers": self.proxy.bootstrap, "request.timeout.ms": self.REQUEST_TIMEOUT}
        return configuration

    def mirror_each(self, topics: list[str]) -> MirrorDaemon:
        """A daemon, not started yet, with a mirror for each topic: each has connections of its own, and no fault of one holds up another."""
        configuration = self.configuration(topics)
        configuration["mirrors"] = [{**configuration["mirrors"][0], "name": self.unique("mirror"), "topics.include": [topic]} for topic in topics]
        return self.daemon(configuration)

    def fault(self, fault: Fault) -> Fault:
        """Puts it in force until the end of the test."""
        return self.proxy.faults.add(fault)

    def batches(self, topic: str, count: int, partition: int = 0, producer: Producer | None = None, **record: object) -> None:
        """So many batches, one after the other, so that they stay apart."""
        producer = producer or self.plain_producer
        for number in range(count):
            for _ in range(RECORDS_PER_BATCH):
                send(producer, topic, partition, key=f"{number}".encode(), value=self.unique("value").encode(), **record)
            flush(producer)

    def transaction(self, topic: str, batches: int, partition: int = 0, commit: bool = True) -> None:
        """A transaction with so many batches."""
        producer = self.transactional_producer
        producer.begin_transaction()
        self.batches(topic, batches, partition, producer)
        (producer.commit_transaction if commit else producer.abort_transaction)(FLUSH_SECONDS)

    def mixed(self, topic: str, partition: int = 0) -> None:
        """Plain batches, a committed and an aborted transaction, plain batches."""
        self.batches(topic, 4, partition)
        self.transaction(topic, 2, partition)
        self.transaction(topic, 2, partition, commit=False)
        self.batches(topic, 4, partition)

    def mixed_topic(self, name: str = "", partitions: int = 1) -> str:
        """A new topic on the source with that in each partition."""
        topic = self.create_topic(self.source, name, partitions=partitions)
        for partition in range(partitions):
            self.mixed(topic, partition)
        return topic

    def hole(self, topic: str, offsets: int, partition: int = 0) -> None:
        """Offsets that a mirror which has not read them cannot get any more; while no daemon runs."""
        end = self.source_end(topic, partition) + offsets
        for _ in range(offsets):
            send(self.plain_producer, topic, partition, value=b"lost")
        flush(self.plain_producer)
        where = TopicPartition(topic, partition, end)
        admin = self.source.admin()
        admin.delete_records([where], request_timeout=REQUEST_SECONDS)[where].result()

    def source_end(self, topic: str, partition: int = 0) -> int:
        """The log end offset on the source."""
        admin = self.source.admin()
        return read_ends(admin, topic, [partition])[partition].leo

    def run_with_faults(self, daemon: MirrorDaemon, topics: dict[str, Callable[[str], Fault]]) -> None:
        """Starts the daemon with a fault for each topic; all must happen and be recovered from."""
        faults = [self.fault(make(topic)) for topic, make in topics.items()]
        daemon.start()
        for topic, fault in zip(topics, faults):
            with self.subTest(topic):
                fault.wait_fired()
                self.assert_recovered(daemon, topic)
        self.assert_mirrored(daemon, list(topics))

    def ask(self, broker: int, api: Api, version: int, request: Message) -> Message:
        """What a broker of the destination answers to a request, past the proxy's faults."""
        with socket.create_connection((LOOPBACK, self.destination.proxied_port(broker)), REQUEST_SECONDS) as connection:
            write_frame(connection, new_request(api, version, request))
            return decode_answer(api, version, read_frame(connection))

    def producers(self, topic: str) -> list[Message]:
        """The producers that broker 1 knows in partition 0."""
        answer = self.ask(1, Api.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": topic, "partitions": [0]}]})
        entry = next(partitions_of(answer, topic, 0))
        self.assertEqual(entry["error_code"], 0)
        return entry["producers"]

    def leads(self, broker: int, topic: str) -> bool:
        """Whether a broker itself knows that it leads partition 0."""
        asked = {"index": 0, "current_leader_epoch": -1, "leader_epoch": 0}
        answer = self.ask(broker, Api.OFFSET_FOR_LEADER_EPOCH, 3, {"replica_id": -1, "topics": [{"name": topic, "partitions": [asked]}]})
        return next(partitions_of(answer, topic, 0))["error_code"] == 0

    def move_leaders(self, topics: list[str]) -> None:
        """Makes the next replica the leader of partition 0 of each topic; returns when it has begun to lead."""
        move_leaders(self.destination, topics)
        for (topic, _), leader in leaders_of(self.destination.admin(), topics).items():
            wait_until(lambda: self.leads(leader, topic), f"broker {leader} to lead {topic}", REQUEST_SECONDS)

    def assert_recovered(self, daemon: MirrorDaemon, topic: str, partition: int = 0, error: str = "") -> None:
        """The log tells that the partition met this error and went on by itself."""
        daemon.wait_log(rf"partition_retries .*partition={topic}-{partition} .*{error}")
        self.assertNotRegex(daemon.log(), rf"partition_failed .*partition={topic}-{partition} ")

    def assert_mirrored(self, daemon: MirrorDaemon, topics: list[str]) -> None:
        """All that the source holds arrives, and both sides are equal; also what is written from now on."""
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)
        for topic in topics:
            self.mixed(topic)
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)


def marker_count(message: Message, topic: str, partition: int) -> int:
    """How many markers a WriteTxnMarkers request has for a partition."""
    return sum(1 for _ in partitions_of(message, topic, partition))
