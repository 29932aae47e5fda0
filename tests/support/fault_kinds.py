"""What can be done to requests and answers on their way between a client and a broker: lost, held, swapped, rewritten, refused."""

import sys
import threading
from typing import Callable

from faults import FIRED_SECONDS, Exchange, Fault, Where
from kafka_frames import Message, decode_answer, decode_request, encode_answer, encode_request, markers_of, partitions_of
from kafka_layouts import Api
from waiting import NotYet, wait_until


class Watch(Fault):
    """Lets everything pass and keeps the answers."""

    def __init__(self, api: Api, where: Where) -> None:
        super().__init__(api, where, times=sys.maxsize)
        self.answers: list[Message] = []

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        self.answers.append(decode_answer(self.api, exchange.version, frame))
        self.done.append(exchange)
        return frame

    def codes(self, topic: str, partition: int = 0) -> set[int]:
        """The error codes that the broker has answered for a partition."""
        return {entry["error_code"] for answer in self.answers for entry in partitions_of(answer, topic, partition)}

    def wait_code(self, code: int, topic: str, seconds: float = FIRED_SECONDS) -> None:
        """Waits until the broker has answered this error code for partition 0 of a topic."""

        def answered() -> bool:
            if code not in self.codes(topic):
                raise NotYet(f"{len(self.answers)} answers with the codes {sorted(self.codes(topic))}")
            return True

        wait_until(answered, f"{self.api.name} of {topic} to be answered with {code}", seconds, pause=0.05)


class LoseAnswer(Fault):
    """The broker acts, its answer is lost: the connection ends, or nothing more comes over it."""

    loses = True

    def __init__(self, api: Api, where: Where, nth: int = 1, silent: bool = False) -> None:
        super().__init__(api, where, nth)
        self._silent = silent

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        if self._silent:
            exchange.connection.silent = True
        else:
            exchange.connection.close_client()
        self.done.append(exchange)
        return None


class LoseRequest(Fault):
    """The request never reaches the broker; its connection ends."""

    loses = True

    def on_request(self, exchange: Exchange, frame: bytes) -> bytes | None:
        exchange.connection.close_client()
        self.done.append(exchange)
        return None


class HoldRequest(Fault):
    """The request, and all behind it on its connection, stay on the way until release(), whatever becomes of the client."""

    def __init__(self, api: Api, where: Where, nth: int = 1, times: int = 1) -> None:
        super().__init__(api, where, nth, times)
        self._released = threading.Event()
        self.answered: list[bytes] = []  # what the broker said to those that were released

    def on_request(self, exchange: Exchange, frame: bytes) -> bytes | None:
        self.done.append(exchange)
        self._released.wait()
        return frame

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        self.answered.append(frame)
        return frame

    def release(self) -> None:
        """Lets it go on to the broker."""
        self._released.set()

    def release_and_wait(self) -> list[Message]:
        """Lets it go on; what the broker answered to each that was held."""
        self.release()
        wait_until(lambda: len(self.answered) == len(self.done), f"the broker's answers to held {self.api.name} requests", FIRED_SECONDS, pause=0.02)
        return [decode_answer(self.api, exchange.version, frame) for exchange, frame in zip(self.done, self.answered)]

    def clear(self) -> None:
        super().clear()
        self.release()


class HoldAnswer(Fault):
    """The broker acts, its answer, and all behind it on its connection, stay on the way until release() or lose()."""

    def __init__(self, api: Api, where: Where, nth: int = 1) -> None:
        super().__init__(api, where, nth)
        self._released = threading.Event()
        self._lost = False

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        self.done.append(exchange)
        self._released.wait()
        if self._lost:
            exchange.connection.close_client()
            return None
        return frame

    def release(self) -> None:
        """Lets it go on to the client."""
        self._released.set()

    def lose(self) -> None:
        """It is lost, and its connection ends."""
        self._lost = True
        self._released.set()

    def clear(self) -> None:
        super().clear()
        self.release()


class RewriteRequest(Fault):
    """The broker gets another request: `change` alters its fields in place."""

    def __init__(self, api: Api, where: Where, change: Callable[[Message], None], nth: int = 1, times: int = 1) -> None:
        super().__init__(api, where, nth, times)
        self._change = change

    def on_request(self, exchange: Exchange, frame: bytes) -> bytes | None:
        message = decode_request(frame)
        self._change(message)
        self.done.append(exchange)
        return encode_request(frame, message)


class RewriteAnswer(Fault):
    """The client gets another answer than the broker gave: `change` alters its fields in place."""

    def __init__(self, api: Api, where: Where, change: Callable[[Message], None], nth: int = 1, times: int = 1) -> None:
        super().__init__(api, where, nth, times)
        self._change = change

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        message = decode_answer(self.api, exchange.version, frame)
        self._change(message)
        self.done.append(exchange)
        return encode_answer(self.api, exchange.version, frame, message)


def error_of(topic: str, partition: int, code: int) -> Callable[[Message], None]:
    """For RewriteAnswer: puts an error code where the answer speaks of a partition."""

    def change(message: Message) -> None:
        for entry in partitions_of(message, topic, partition):
            entry["error_code"] = code
            if "base_offset" in entry:
                entry["base_offset"] = -1

    return change


class Refuse(Fault):
    """Partitions are taken out of a request before the broker sees it, and each is answered with an error code.

    `only`: this partition of a topic; without it everything in the request.
    """

    def __init__(self, api: Api, where: Where, code: int, only: tuple[str, int] | None = None, nth: int = 1, times: int = 1) -> None:
        super().__init__(api, where, nth, times)
        self._code, self._only = code, only

    def on_request(self, exchange: Exchange, frame: bytes) -> bytes | None:
        message = decode_request(frame)
        for marker in markers_of(message):
            for topic in marker["topics"]:
                topic["partitions"] = [p for p in topic["partitions"] if not self._is_meant(topic, p)]
            marker["topics"] = [topic for topic in marker["topics"] if topic["partitions"]]
        if "markers" in message:
            message["markers"] = [marker for marker in message["markers"] if marker["topics"]]
        return encode_request(frame, message)

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        answer = decode_answer(self.api, exchange.version, frame)
        for marker in markers_of(exchange.request):
            refused = [{"name": topic["name"], "partitions": [self._refusal(number_of(p))], "tags": []}
                       for topic in marker["topics"] for p in topic["partitions"] if self._is_meant(topic, p)]
            if "markers" in answer:
                answer["markers"].append({"producer_id": marker["producer_id"], "topics": refused, "tags": []})
            else:
                answer["topics"] += refused
        self.done.append(exchange)
        return encode_answer(self.api, exchange.version, frame, answer)

    def _is_meant(self, topic: Message, partition: object) -> bool:
        return self._only is None or self._only == (topic["name"], number_of(partition))

    def _refusal(self, partition: int) -> Message:
        """An entry for the answer of any API: it is encoded with the fields that this one has."""
        return {"index": partition, "error_code": self._code, "base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1,
                "record_errors": [], "error_message": None, "leader_epoch": -1, "end_offset": -1, "tags": []}


def number_of(partition: object) -> int:
    """The partition number of an entry of a request."""
    return partition["index"] if isinstance(partition, dict) else partition


class SwapAnswers(Fault):
    """The answer comes after the one that follows it on its connection, which no broker does."""

    def on_answer(self, exchange: Exchange, frame: bytes) -> bytes | None:
        exchange.connection.behind_next = frame
        self.done.append(exchange)
        return None
