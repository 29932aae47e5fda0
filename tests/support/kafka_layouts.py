"""The fields of the Kafka messages that a partition's loop sends and gets, as Kafka's message schemas have them.

Names are the schemas' own, except that the parts that all of them share are called alike: topics, name, partitions, index.
"""

import dataclasses
import enum

INTEGERS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "bool": "?"}  # the letters of struct


class Api(enum.IntEnum):
    """The APIs whose fields are known here."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    DELETE_RECORDS = 21
    OFFSET_FOR_LEADER_EPOCH = 23
    WRITE_TXN_MARKERS = 27
    DESCRIBE_PRODUCERS = 61


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a message. `kind`: an integer, string, bytes, uuid, or the fields of a list's entries; [kind]: a list of these."""

    name: str
    kind: object
    since: int = 0
    until: int = 99  # the last version that has it


def topics(*partition_fields: Field, name: str = "name", partitions: object = None) -> Field:
    """What most of these messages are about: a list of topics with their partitions."""
    return Field("topics", (Field("name", "string"), Field("partitions", partitions or partition_fields)))


INDEX, ERROR = Field("index", "int32"), Field("error_code", "int16")
THROTTLE = Field("throttle_time_ms", "int32")
ABORTED = Field("aborted", (Field("producer_id", "int64"), Field("first_offset", "int64")))
FETCHED = (INDEX, ERROR, Field("high_watermark", "int64"), Field("last_stable_offset", "int64"), Field("log_start_offset", "int64", 5), ABORTED,
           Field("preferred_read_replica", "int32", 11), Field("records", "bytes"))


@dataclasses.dataclass(frozen=True)
class Layout:
    """The fields of an API's request and answer; `flexible`: the first version with compact lengths and tagged fields."""

    flexible: int
    request: tuple[Field, ...]
    answer: tuple[Field, ...]


LAYOUTS: dict[int, Layout] = {
    Api.PRODUCE: Layout(
        9,
        (Field("transactional_id", "string"), Field("acks", "int16"), Field("timeout_ms", "int32"), topics(INDEX, Field("records", "bytes"))),
        (topics(INDEX, ERROR, Field("base_offset", "int64"), Field("log_append_time_ms", "int64"), Field("log_start_offset", "int64", 5),
                Field("record_errors", (Field("batch_index", "int32"), Field("message", "string")), 8), Field("error_message", "string", 8)), THROTTLE)),
    Api.FETCH: Layout(
        12,
        (Field("replica_id", "int32", 0, 14), Field("max_wait_ms", "int32"), Field("min_bytes", "int32"), Field("max_bytes", "int32"),
         Field("isolation_level", "int8"), Field("session_id", "int32", 7), Field("session_epoch", "int32", 7),
         Field("topics", (Field("name", "string", 0, 12), Field("topic_id", "uuid", 13), Field("partitions", (
             INDEX, Field("current_leader_epoch", "int32", 9), Field("fetch_offset", "int64"), Field("last_fetched_epoch", "int32", 12),
             Field("log_start_offset", "int64", 5), Field("partition_max_bytes", "int32"))))),
         Field("forgotten", (Field("name", "string", 0, 12), Field("topic_id", "uuid", 13), Field("partitions", ["int32"])), 7),
         Field("rack_id", "string", 11)),
        (THROTTLE, Field("error_code", "int16", 7), Field("session_id", "int32", 7),
         Field("topics", (Field("name", "string", 0, 12), Field("topic_id", "uuid", 13), Field("partitions", FETCHED))))),
    Api.LIST_OFFSETS: Layout(
        6,
        (Field("replica_id", "int32"), Field("isolation_level", "int8", 2),
         topics(INDEX, Field("current_leader_epoch", "int32", 4), Field("timestamp", "int64")), Field("timeout_ms", "int32", 10)),
        (Field("throttle_time_ms", "int32", 2),
         topics(INDEX, ERROR, Field("timestamp", "int64"), Field("offset", "int64"), Field("leader_epoch", "int32", 4)))),
    Api.DELETE_RECORDS: Layout(
        2,
        (topics(INDEX, Field("offset", "int64")), Field("timeout_ms", "int32")),
        (THROTTLE, topics(INDEX, Field("low_watermark", "int64"), ERROR))),
    Api.OFFSET_FOR_LEADER_EPOCH: Layout(
        4,
        (Field("replica_id", "int32", 3), topics(INDEX, Field("current_leader_epoch", "int32", 2), Field("leader_epoch", "int32"))),
        (Field("throttle_time_ms", "int32", 2), topics(ERROR, INDEX, Field("leader_epoch", "int32", 1), Field("end_offset", "int64")))),
    Api.WRITE_TXN_MARKERS: Layout(
        1,
        (Field("markers", (Field("producer_id", "int64"), Field("producer_epoch", "int16"), Field("commit", "bool"), topics(partitions=["int32"]),
                           Field("coordinator_epoch", "int32"), Field("transaction_version", "int8", 2))),),
        (Field("markers", (Field("producer_id", "int64"), topics(INDEX, ERROR))),)),
    Api.DESCRIBE_PRODUCERS: Layout(
        0,
        (topics(partitions=["int32"]),),
        (THROTTLE, topics(INDEX, ERROR, Field("error_message", "string"), Field("producers", (
            Field("producer_id", "int64"), Field("producer_epoch", "int32"), Field("last_sequence", "int32"), Field("last_timestamp", "int64"),
            Field("coordinator_epoch", "int32"), Field("open_since", "int64")))))),
}
