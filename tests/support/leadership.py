"""Who leads which partition of a cluster, whether all replicas are in sync, and moving leaders where they belong."""

import json

from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_lab import Cluster
from waiting import NotYet, wait_until

REQUEST_SECONDS = 30
IN_SYNC_SECONDS = 90
MOVE_SECONDS = 60


def leaders_of(admin: AdminClient, topics: list[str]) -> dict[tuple[str, int], int]:
    """The broker that leads each partition; -1 for none."""
    known = admin.list_topics(timeout=REQUEST_SECONDS).topics
    return {(topic, p.id): p.leader for topic in topics if topic in known for p in known[topic].partitions.values()}


def wait_led_by_others(admin: AdminClient, topics: list[str], broker: int) -> None:
    """Waits until every partition has a leader other than this broker."""

    def led() -> bool:
        left = [f"{topic}-{partition}" for (topic, partition), leader in leaders_of(admin, topics).items() if leader in (broker, -1)]
        if left:
            raise NotYet(f"led by broker {broker}, or by nobody: {left[:5]}")
        return True

    wait_until(led, f"other leaders than broker {broker}", REQUEST_SECONDS, pause=0.05)


def wait_in_sync(admin: AdminClient) -> None:
    """Waits until all replicas of all partitions are in sync, internal topics included: then any broker may be lost."""

    def in_sync() -> bool:
        lacking = [f"{topic.topic}-{p.id} has {p.isrs} of {p.replicas}" for topic in admin.list_topics(timeout=REQUEST_SECONDS).topics.values()
                   for p in topic.partitions.values() if sorted(p.isrs) != sorted(p.replicas) or p.leader < 0]
        if lacking:
            raise NotYet(f"{len(lacking)} partitions, such as {lacking[:3]}")
        return True

    wait_until(in_sync, "all replicas to be in sync", IN_SYNC_SECONDS)


def prefer_leaders(admin: AdminClient) -> None:
    """Preferred election for all partitions: leaders move back to a restarted broker."""
    # Without time-outs among the arguments: confluent-kafka 2.16.1 ends with a SystemError when it gets one.
    for outcome in admin.elect_leaders(ElectionType.PREFERRED).result(REQUEST_SECONDS).values():
        if outcome is not None and outcome.code() != KafkaError.ELECTION_NOT_NEEDED:
            raise KafkaException(outcome)


def replicas_of(admin: AdminClient, topic: str) -> list[int]:
    """Of partition 0; the first is the preferred leader."""
    return list(admin.list_topics(timeout=REQUEST_SECONDS).topics[topic].partitions[0].replicas)


def move_leaders(cluster: Cluster, topics: list[str]) -> None:
    """Makes the next replica the leader of partition 0 of each topic."""
    admin = cluster.admin()
    wanted = {topic: (order := replicas_of(admin, topic))[1:] + order[:1] for topic in topics}
    plan = cluster.directory / "reassignment.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": order} for topic, order in wanted.items()]}),
                    encoding="utf-8")
    cluster.tool("reassign-partitions", "--reassignment-json-file", str(plan), "--execute")
    wait_until(lambda: all(replicas_of(admin, topic) == order for topic, order in wanted.items()), f"the new order of replicas of {topics}", MOVE_SECONDS)

    def moved() -> bool:
        # A replica that is not in sync is not elected; the election is then asked for again.
        admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0) for topic in topics]).result(REQUEST_SECONDS)
        now = leaders_of(admin, topics)
        if any(now[topic, 0] != order[0] for topic, order in wanted.items()):
            raise NotYet(f"leaders {now}, wanted {wanted}")
        return True

    wait_until(moved, f"the leaders of {topics} to move", MOVE_SECONDS)
