"""Tests of the fault proxy against a broker that is a plain socket, and of its view of Kafka's messages against golden bytes."""

import socket
import struct
import threading
import unittest
from pathlib import Path

from fault_kinds import HoldAnswer, HoldRequest, LoseAnswer, LoseRequest, Refuse, RewriteAnswer, RewriteRequest, SwapAnswers, error_of
from fault_proxy import LOOPBACK, FaultProxy, read_frame, shut, write_frame
from kafka_frames import decode_answer, decode_request, encode_answer, encode_request, is_about
from kafka_layouts import Api
from waiting import wait_until

GOLDEN = Path(__file__).parent.parent / "golden" / "messages.txt"
SECONDS = 10
VERSION = 2  # of OffsetForLeaderEpoch, the smallest message that has topics and error codes


def question(correlation: int, topic: str, partition: int = 0) -> bytes:
    """An OffsetForLeaderEpoch request."""
    header = struct.pack(">hhi", Api.OFFSET_FOR_LEADER_EPOCH, VERSION, correlation) + b"\0\4test"
    entry = {"index": partition, "current_leader_epoch": 7, "leader_epoch": 7, "tags": []}
    return encode_request(header, {"topics": [{"name": topic, "partitions": [entry], "tags": []}], "tags": []})


class EndsBroker:
    """Answers every question after a log end with the epoch that was asked for as the end offset; remembers the questions."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = self._listener.getsockname()[1]
        self.asked: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            while (frame := read_frame(connection)) is not None:
                topics = decode_request(frame)["topics"]
                self.asked += [topic["name"] for topic in topics]
                answer = [{**topic, "partitions": [{"error_code": 0, "index": p["index"], "leader_epoch": 7, "end_offset": p["leader_epoch"], "tags": []}
                                                   for p in topic["partitions"]]} for topic in topics]
                body = {"throttle_time_ms": 0, "topics": answer, "tags": []}
                write_frame(connection, encode_answer(Api.OFFSET_FOR_LEADER_EPOCH, VERSION, frame[4:8], body))

    def close(self) -> None:
        shut(self._listener)
        self._listener.close()


class FaultProxyTest(unittest.TestCase):
    """One broker behind a proxy; clients ask for log ends."""

    def setUp(self) -> None:
        self.broker = EndsBroker()
        self.addCleanup(self.broker.close)
        self.proxy = FaultProxy(1)
        self.addCleanup(self.proxy.stop)
        self.proxy.start([self.broker.port])
        self.client = self.connect()

    def connect(self) -> socket.socket:
        client = socket.create_connection((LOOPBACK, self.proxy.ports[0]), SECONDS)
        self.addCleanup(client.close)
        return client

    def answer(self, client: socket.socket | None = None) -> tuple[int, int, int]:
        """The next answer: correlation id, error code, end offset."""
        frame = read_frame(client or self.client)
        self.assertIsNotNone(frame, "the connection has ended")
        entry = decode_answer(Api.OFFSET_FOR_LEADER_EPOCH, VERSION, frame)["topics"][-1]["partitions"][-1]
        return struct.unpack(">i", frame[:4])[0], entry["error_code"], entry["end_offset"]

    def ask(self, correlation: int, topic: str) -> None:
        write_frame(self.client, question(correlation, topic))

    def add(self, kind: type, *arguments: object, topic: str = "a", **settings: object):
        return self.proxy.faults.add(kind(Api.OFFSET_FOR_LEADER_EPOCH, is_about(topic, 0), *arguments, **settings))

    def test_without_faults_everything_passes_in_order(self) -> None:
        for number in range(50):
            self.ask(number, f"t{number}")
        self.assertEqual([self.answer() for _ in range(50)], [(number, 0, 7) for number in range(50)])
        self.assertEqual(self.broker.asked, [f"t{number}" for number in range(50)])
        self.assertEqual({(p.api, p.broker) for p in self.proxy.faults.passed}, {(Api.OFFSET_FOR_LEADER_EPOCH, 1)})
        self.assertEqual(len(self.proxy.faults.passed), 50)

    def test_lost_answer_with_the_connection(self) -> None:
        fault = self.add(LoseAnswer, nth=2)
        self.ask(1, "a")
        self.assertEqual(self.answer(), (1, 0, 7))
        self.ask(2, "a")
        self.assertIsNone(read_frame(self.client))
        fault.wait_fired()
        self.assertEqual(self.broker.asked, ["a", "a"])

    def test_lost_answer_in_silence(self) -> None:
        fault = self.add(LoseAnswer, silent=True)
        self.ask(1, "a")
        self.ask(2, "b")
        fault.wait_fired()
        wait_until(lambda: self.broker.asked == ["a", "b"], "both questions to reach the broker", SECONDS)
        self.client.settimeout(0.2)
        self.assertRaises(TimeoutError, self.client.recv, 1)

    def test_lost_request(self) -> None:
        self.add(LoseRequest)
        self.ask(1, "a")
        self.assertIsNone(read_frame(self.client))
        self.assertEqual(self.broker.asked, [])

    def test_held_request_reaches_the_broker_after_its_sender_has_gone(self) -> None:
        fault = self.add(HoldRequest)
        self.ask(1, "a")
        fault.wait_fired()
        self.ask(2, "behind")
        self.client.close()
        other = self.connect()
        write_frame(other, question(3, "other"))
        self.assertEqual(self.answer(other), (3, 0, 7))
        self.assertEqual(self.broker.asked, ["other"])
        self.assertEqual([answer["topics"][0]["name"] for answer in fault.release_and_wait()], ["a"])
        wait_until(lambda: self.broker.asked == ["other", "a", "behind"], "the held questions to arrive in order", SECONDS)

    def test_held_answer(self) -> None:
        fault = self.add(HoldAnswer)
        self.ask(1, "a")
        self.ask(2, "b")
        fault.wait_fired()
        self.client.settimeout(0.2)
        self.assertRaises(TimeoutError, self.client.recv, 1)
        fault.release()
        self.client.settimeout(SECONDS)
        self.assertEqual([self.answer()[0], self.answer()[0]], [1, 2])

    def test_held_answer_that_is_lost(self) -> None:
        fault = self.add(HoldAnswer)
        self.ask(1, "a")
        fault.wait_fired()
        fault.lose()
        self.assertIsNone(read_frame(self.client))

    def test_rewritten_request_and_answer(self) -> None:
        def raise_epoch(message) -> None:
            message["topics"][0]["partitions"][0]["leader_epoch"] = 99

        self.add(RewriteRequest, raise_epoch)
        self.add(RewriteAnswer, error_of("b", 0, 6), topic="b")
        self.ask(1, "a")
        self.ask(2, "b")
        self.assertEqual([self.answer(), self.answer()], [(1, 0, 99), (2, 6, 7)])

    def test_refused_partition_is_answered_but_not_seen_by_the_broker(self) -> None:
        self.add(Refuse, 75, ("a", 0))
        self.ask(1, "a")
        self.assertEqual(self.answer(), (1, 75, -1))
        self.assertEqual(self.broker.asked, [])

    def test_swapped_answers(self) -> None:
        self.add(SwapAnswers)
        self.ask(1, "a")
        self.ask(2, "b")
        self.assertEqual([self.answer()[0], self.answer()[0]], [2, 1])

    def test_a_broker_that_is_down_ends_the_connection(self) -> None:
        self.broker.close()
        self.assertIsNone(read_frame(self.connect()))


class FramesTest(unittest.TestCase):
    """The golden messages of Java's clients."""

    def test_golden_messages_decode_and_encode_to_the_same_bytes(self) -> None:
        seen: set[tuple[str, str]] = set()
        for line in GOLDEN.read_text(encoding="utf-8").splitlines():
            name, kind, version, what, text = line.split()
            if name.upper() not in Api.__members__:
                continue
            frame, api = bytes.fromhex(text), Api[name.upper()]
            with self.subTest(name, kind=kind, version=version, what=what):
                if kind == "request":
                    self.assertEqual(encode_request(frame, decode_request(frame)), frame)
                else:
                    self.assertEqual(encode_answer(api, int(version), frame, decode_answer(api, int(version), frame)), frame)
            seen.add((name, kind))
        self.assertEqual(len(seen), 2 * len(Api), "an API has no golden message")


if __name__ == "__main__":
    unittest.main()
