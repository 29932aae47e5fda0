"""TLS, SASL and access control on both sides; the daemon is the user `mirror`, with no more rights than it needs."""

import re
import unittest

from confluent_kafka.admin import (AclBinding, AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType,
                                   ResourceType)

import seed_topics
from kafka_lab import Cluster
from lab_test_case import DESTINATION_OPTIONS, REQUEST_SECONDS, LabTestCase
from mirror_cli import run_cli, write_properties
from record_writers import FLUSH_SECONDS, make_producer, send

SECURE = ["--tls", "--sasl", "--authorizer"]
PRINCIPAL = "User:mirror"
CLUSTER = (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL)
ALL_TOPICS = (ResourceType.TOPIC, "*", ResourcePatternType.LITERAL)
OWN_TRANSACTIONAL_IDS = (ResourceType.TRANSACTIONAL_ID, "kafka-mirrord-", ResourcePatternType.PREFIXED)

SOURCE_RIGHTS = {ALL_TOPICS: ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")}
DESTINATION_RIGHTS = {
    CLUSTER: ("CLUSTER_ACTION", "DESCRIBE", "DESCRIBE_CONFIGS", "IDEMPOTENT_WRITE"),
    ALL_TOPICS: ("CREATE", "READ", "WRITE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    OWN_TRANSACTIONAL_IDS: ("WRITE",),
}


def binding(resource: tuple, operation: str, made: type = AclBinding, principal: str = PRINCIPAL):
    """An ACL that allows the daemon one operation; made=AclBindingFilter: what finds it."""
    return made(*resource, principal, "*", AclOperation[operation], AclPermissionType.ALLOW)


def grant(cluster: Cluster, rights: dict[tuple, tuple[str, ...]], principal: str = PRINCIPAL) -> None:
    """Adds ACLs, for the daemon unless another principal is named."""
    admin = cluster.admin()
    wanted = [binding(resource, operation, principal=principal) for resource, operations in rights.items() for operation in operations]
    for future in admin.create_acls(wanted, request_timeout=REQUEST_SECONDS).values():
        future.result()


# Of an operator on the destination.
STEERING_RIGHTS = {
    (ResourceType.TOPIC, "__mirror_state", ResourcePatternType.LITERAL): ("READ", "WRITE", "DESCRIBE"),
    ALL_TOPICS: ("DESCRIBE",),
}


def revoke(cluster: Cluster, resource: tuple, operation: str) -> None:
    """Removes one of them."""
    admin = cluster.admin()
    for future in admin.delete_acls([binding(resource, operation, AclBindingFilter)], request_timeout=REQUEST_SECONDS).values():
        future.result()


class SecureTest(LabTestCase):
    """One pair of clusters with everything switched on."""

    SOURCE = SECURE
    DESTINATION = [*SECURE, *DESTINATION_OPTIONS]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        grant(cls.source, SOURCE_RIGHTS)
        grant(cls.destination, DESTINATION_RIGHTS)

    def topic_with_data(self) -> str:
        topic = self.create_topic(self.source)
        self.write(self.source, topic, [b"data"] * 10)
        return topic

    def assert_no_secret(self, daemon) -> None:
        self.assertNotIn("-secret", daemon.log())

    def test_topics_are_equal_with_the_documented_rights_only(self) -> None:
        topics = ["plain-zstd", "transactional", "trimmed"]
        seed_topics.seed(self.source.client(), 150, topics)
        daemon = self.mirror(topics)
        daemon.wait_mirrored(self.source.admin(), topics)
        daemon.stop()
        self.write(self.source, "plain-zstd", [b"later"] * 10)
        daemon.start()
        daemon.wait_mirrored(self.source.admin(), topics)
        self.assert_equal_topics(topics)
        self.assert_no_secret(daemon)

    def test_every_mechanism(self) -> None:
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            with self.subTest(mechanism):
                topic = self.topic_with_data()
                configuration = self.configuration([topic])
                configuration["destination"]["sasl.mechanism"] = mechanism
                configuration["mirrors"][0]["source"]["sasl.mechanism"] = mechanism
                daemon = self.daemon(configuration).start()
                daemon.wait_mirrored(self.source.admin(), [topic])
                self.assert_equal_topics([topic])
                daemon.stop()

    def test_an_operator_steers_with_the_documented_rights_only(self) -> None:
        topic = self.topic_with_data()
        configuration = self.configuration([topic], mirror="steered")
        daemon = self.daemon(configuration).start()
        daemon.wait_mirrored(self.source.admin(), [topic])
        properties = write_properties(self.lab.directory / "alice.properties", self.destination.security("alice"))
        pause = ("--pause", "--mirror", "steered", "--topics", topic, "--bootstrap-server", self.destination.bootstrap, "--command-config", properties)
        refused = run_cli(*pause)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("__mirror_state", refused.stderr)
        grant(self.destination, STEERING_RIGHTS, "User:alice")
        done = run_cli(*pause)
        self.assertEqual((done.returncode, done.stdout), (0, f"Paused 1 topic(s) in mirror steered: [{topic}]\n"), done.stderr)
        self.assertNotIn("-secret", done.stderr + refused.stderr)

    def test_missing_cluster_action_is_named_with_its_command_and_recovered_from(self) -> None:
        topic = self.topic_with_data()
        self.addCleanup(grant, self.destination, {CLUSTER: ("CLUSTER_ACTION",)})
        revoke(self.destination, CLUSTER, "CLUSTER_ACTION")
        daemon = self.mirror([topic])
        error = daemon.wait_error("ClusterAction", "kafka-acls")
        daemon.wait_log("warning .*ClusterAction")
        self.assertNotIn(topic, self.destination.admin().list_topics(timeout=REQUEST_SECONDS).topics)
        self.run_advice(error)
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_missing_transactional_id_is_named_with_its_command_and_recovered_from(self) -> None:
        topic = self.create_topic(self.source)
        self.addCleanup(grant, self.destination, {OWN_TRANSACTIONAL_IDS: ("WRITE",)})
        revoke(self.destination, OWN_TRANSACTIONAL_IDS, "WRITE")
        self.write_transaction(topic)
        daemon = self.mirror([topic])
        error = daemon.wait_error("kafka-mirrord-", "--transactional-id")
        self.run_advice(error)
        daemon.wait_mirrored(self.source.admin(), [topic])
        self.assert_equal_topics([topic])

    def test_topic_that_may_not_be_written_leaves_the_others_alone(self) -> None:
        denied, allowed = self.topic_with_data(), self.topic_with_data()
        deny = AclBinding(ResourceType.TOPIC, denied, ResourcePatternType.LITERAL, PRINCIPAL, "*", AclOperation.CREATE, AclPermissionType.DENY)
        admin = self.destination.admin()
        admin.create_acls([deny], request_timeout=REQUEST_SECONDS)[deny].result()
        daemon = self.mirror([denied, allowed])
        daemon.wait_error(rf"\b{denied}\b", "(?i)authoriz")
        daemon.wait_mirrored(self.source.admin(), [allowed])
        self.assertNotIn(denied, self.destination.admin().list_topics(timeout=REQUEST_SECONDS).topics)

    def test_wrong_password_of_the_source(self) -> None:
        topic = self.topic_with_data()
        configuration = self.configuration([topic])
        configuration["mirrors"][0]["source"]["sasl.password"] = "wrong-secret"
        daemon = self.daemon(configuration).start()
        error = daemon.wait_error("(?i)source", "(?i)authenticat")
        self.assertIn("mirror", error)
        self.assert_no_secret(daemon)
        daemon.stop()

    def test_wrong_password_of_the_destination(self) -> None:
        configuration = self.configuration([self.topic_with_data()])
        configuration["destination"]["sasl.password"] = "wrong-secret"
        daemon = self.daemon(configuration).start()
        daemon.wait_log("warning destination_not_ready .*user 'mirror'.*(?i:authenticat)")
        self.assert_no_secret(daemon)
        daemon.stop()

    def test_certificate_of_an_unknown_authority(self) -> None:
        configuration = self.configuration([self.topic_with_data()])
        configuration["mirrors"][0]["source"]["ssl.ca.location"] = str(self.destination.directory / "ca.pem")
        daemon = self.daemon(configuration).start()
        daemon.wait_error("(?i)certificate", re.escape(self.source.bootstrap.split(":")[1]))
        daemon.stop()

    def write_transaction(self, topic: str) -> None:
        producer = make_producer(self.source.client(), transactional_id=self.unique("id"))
        producer.init_transactions(FLUSH_SECONDS)
        producer.begin_transaction()
        send(producer, topic, 0, key=b"k", value=b"in a transaction")
        producer.commit_transaction(FLUSH_SECONDS)

    def run_advice(self, error: str) -> None:
        """Does what the error says, with the daemon's name filled in."""
        words = error[error.index("kafka-acls"):].replace("<daemon>", "mirror").split()
        address = words.index("--bootstrap-server")
        self.destination.tool("acls", *words[1:address], *words[address + 2:])


if __name__ == "__main__":
    unittest.main()
