"""Moves the leaders of partitions from broker to broker, with Kafka's own tool and an election."""

import json

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_lab import Cluster
from waiting import NotYet, wait_until

REQUEST_SECONDS = 30
MOVE_SECONDS = 60


def leaders(admin: AdminClient, topics: list[str]) -> dict[str, int]:
    """The broker that leads partition 0 of each topic; -1 while there is none."""
    known = admin.list_topics(timeout=REQUEST_SECONDS).topics
    return {topic: known[topic].partitions[0].leader for topic in topics}


def replicas(admin: AdminClient, topic: str) -> list[int]:
    """Of partition 0."""
    return list(admin.list_topics(timeout=REQUEST_SECONDS).topics[topic].partitions[0].replicas)


def move_leaders(cluster: Cluster, topics: list[str]) -> None:
    """Makes the next replica the leader of partition 0 of each topic; returns when all brokers' metadata says so."""
    admin = cluster.admin()
    wanted = {topic: (order := replicas(admin, topic))[1:] + order[:1] for topic in topics}
    plan = cluster.directory / "reassignment.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": order} for topic, order in wanted.items()]}),
                    encoding="utf-8")
    cluster.tool("reassign-partitions", "--reassignment-json-file", str(plan), "--execute")
    wait_until(lambda: all(replicas(admin, topic) == order for topic, order in wanted.items()), f"the new order of replicas of {topics}", MOVE_SECONDS)

    def moved() -> bool:
        # A replica that is not in sync is not elected; the election is then asked for again.
        admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0) for topic in topics]).result()
        now = leaders(admin, topics)
        if any(now[topic] != order[0] for topic, order in wanted.items()):
            raise NotYet(f"leaders {now}, wanted {wanted}")
        return True

    wait_until(moved, f"the leaders of {topics} to move", MOVE_SECONDS)
