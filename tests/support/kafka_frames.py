"""Kafka's requests and answers as dictionaries, for tests that look into what passes between the daemon and a broker.

Written from Kafka's message schemas, independently of the daemon's own codec. Only the APIs of kafka_layouts are known by
their fields; of all others the header is. What was decoded and is not changed encodes to the same bytes.
"""

import dataclasses
import struct
from typing import Callable, Iterator

from kafka_layouts import INTEGERS, LAYOUTS, Field

Message = dict[str, object]


class Reader:
    """Takes fields off a message's bytes."""

    def __init__(self, data: bytes, flexible: bool) -> None:
        self.data, self.at, self.flexible = data, 0, flexible

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise ValueError(f"a field of {count} bytes at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def integer(self, kind: str) -> int:
        code = ">" + INTEGERS[kind]
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def length(self, kind: str) -> int:
        """-1: null."""
        return self.varint() - 1 if self.flexible else self.integer(kind)

    def sized(self, kind: str) -> bytes | None:
        length = self.length(kind)
        return None if length < 0 else self.take(length)

    def tags(self) -> list[tuple[int, bytes]]:
        return [(self.varint(), self.take(self.varint())) for _ in range(self.varint())] if self.flexible else []

    def value(self, kind: object, version: int) -> object:
        if isinstance(kind, list):
            return [self.value(kind[0], version) for _ in range(max(0, self.length("int32")))]
        if isinstance(kind, tuple):
            length = self.length("int32")
            return None if length < 0 else [self.fields(kind, version) for _ in range(length)]
        if kind == "string":
            text = self.sized("int16")
            return None if text is None else text.decode()
        if kind == "bytes":
            return self.sized("int32")
        return self.take(16) if kind == "uuid" else self.integer(kind)

    def fields(self, fields: tuple[Field, ...], version: int) -> Message:
        message = {f.name: self.value(f.kind, version) for f in fields if f.since <= version <= f.until}
        message["tags"] = self.tags()
        return message


class Writer:
    """Puts fields behind each other; the inverse of Reader."""

    def __init__(self, flexible: bool) -> None:
        self.parts: list[bytes] = []
        self.flexible = flexible

    def varint(self, value: int) -> None:
        encoded = bytearray()
        while value > 0x7F:
            encoded.append(value & 0x7F | 0x80)
            value >>= 7
        self.parts.append(bytes(encoded + bytes([value])))

    def length(self, value: int, kind: str) -> None:
        if self.flexible:
            self.varint(value + 1)
        else:
            self.parts.append(struct.pack(">" + INTEGERS[kind], value))

    def sized(self, value: bytes | None, kind: str) -> None:
        self.length(-1 if value is None else len(value), kind)
        self.parts.append(value or b"")

    def tags(self, tags: list[tuple[int, bytes]]) -> None:
        if self.flexible:
            self.varint(len(tags))
            for number, data in tags:
                self.varint(number)
                self.varint(len(data))
                self.parts.append(data)

    def value(self, value: object, kind: object, version: int) -> None:
        if isinstance(kind, (list, tuple)):
            self.length(-1 if value is None else len(value), "int32")
            for entry in value or []:
                if isinstance(kind, list):
                    self.value(entry, kind[0], version)
                else:
                    self.fields(entry, kind, version)
        elif kind == "string":
            self.sized(None if value is None else value.encode(), "int16")
        elif kind == "bytes":
            self.sized(value, "int32")
        else:
            self.parts.append(value if kind == "uuid" else struct.pack(">" + INTEGERS[kind], value))

    def fields(self, message: Message, fields: tuple[Field, ...], version: int) -> None:
        for f in fields:
            if f.since <= version <= f.until:
                self.value(message[f.name], f.kind, version)
        self.tags(message.get("tags", []))


@dataclasses.dataclass
class RequestHeader:
    """What every request begins with."""

    api: int
    version: int
    correlation: int
    client: str
    size: int  # of the header, in bytes


def read_header(frame: bytes) -> RequestHeader:
    """The header of a request frame (without its leading size)."""
    api, version, correlation = struct.unpack(">hhi", frame[:8])
    reader = Reader(frame, flexible=False)
    reader.at = 8
    client = (reader.sized("int16") or b"").decode(errors="replace")
    if api in LAYOUTS:
        reader.flexible = version >= LAYOUTS[api].flexible
        reader.tags()
    return RequestHeader(api, version, correlation, client, reader.at)


def correlation_of(answer: bytes) -> int:
    """Of an answer frame."""
    return struct.unpack(">i", answer[:4])[0]


def decode_request(frame: bytes) -> Message:
    """The fields of a request frame; KeyError where the API is not known here."""
    header = read_header(frame)
    layout = LAYOUTS[header.api]
    return decode(frame[header.size:], layout.request, header.version, header.version >= layout.flexible)


def encode_request(frame: bytes, message: Message) -> bytes:
    """The frame with its body replaced."""
    header = read_header(frame)
    layout = LAYOUTS[header.api]
    return frame[:header.size] + encode(message, layout.request, header.version, header.version >= layout.flexible)


def new_request(api: int, version: int, message: Message) -> bytes:
    """A request frame of our own, without a client's name."""
    header = struct.pack(">hhih", api, version, 1, 0)
    no_tags = b"\0" if version >= LAYOUTS[api].flexible else b""
    return encode_request(header + no_tags, message)


def decode_answer(api: int, version: int, frame: bytes) -> Message:
    """The fields of an answer frame to a request of this API and version."""
    layout = LAYOUTS[api]
    return decode(frame[answer_header(api, version, frame):], layout.answer, version, version >= layout.flexible)


def encode_answer(api: int, version: int, frame: bytes, message: Message) -> bytes:
    """The frame with its body replaced."""
    layout = LAYOUTS[api]
    return frame[:answer_header(api, version, frame)] + encode(message, layout.answer, version, version >= layout.flexible)


def answer_header(api: int, version: int, frame: bytes) -> int:
    """Its size."""
    reader = Reader(frame, flexible=version >= LAYOUTS[api].flexible)
    reader.at = 4
    reader.tags()
    return reader.at


def decode(body: bytes, fields: tuple[Field, ...], version: int, flexible: bool) -> Message:
    """ValueError unless the fields are exactly the body."""
    reader = Reader(body, flexible)
    message = reader.fields(fields, version)
    if reader.at != len(body):
        raise ValueError(f"{len(body) - reader.at} bytes are left over")
    return message


def encode(message: Message, fields: tuple[Field, ...], version: int, flexible: bool) -> bytes:
    """The inverse of decode()."""
    writer = Writer(flexible)
    writer.fields(message, fields, version)
    return b"".join(writer.parts)


def markers_of(message: Message) -> list[Message]:
    """The parts of a message that hold topics: the markers of WriteTxnMarkers, of any other the message itself."""
    return message.get("markers", [message])


def partitions_of(message: Message, topic: str, partition: int) -> Iterator[object]:
    """The entries of one partition: dictionaries, or its bare number where the message has no more of it."""
    for entry in (entry for marker in markers_of(message) for entry in marker["topics"]):
        if entry["name"] == topic:
            yield from (p for p in entry["partitions"] if partition == (p["index"] if isinstance(p, dict) else p))


def is_about(topic: str, partition: int) -> Callable[[Message], bool]:
    """A condition: the message names the partition."""
    return lambda message: any(True for _ in partitions_of(message, topic, partition))
