"""Writes transactions that overlap in the same partitions, as fast as one broker takes them."""

import threading
from concurrent.futures import ThreadPoolExecutor

from record_writers import FLUSH_SECONDS, flush, make_producer, send

OPEN_AT_ANY_TIME = 20


class Writer:
    """One transactional producer, used by one thread."""

    def __init__(self, cluster: dict[str, object], topic: str, partitions: int, number: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self._number = number
        self._producer = make_producer(cluster, transactional_id=f"{topic}-{number}", linger_ms=0)
        self._producer.init_transactions(FLUSH_SECONDS)

    def write(self, transactions: int, record_bytes: int, stop: threading.Event) -> None:
        """Each transaction has a record in every partition, written in two halves, so that others come in between."""
        for transaction in range(transactions):
            if stop.is_set():
                return
            value = f"{self._number} {transaction} ".encode().ljust(record_bytes, b"x")
            self._producer.begin_transaction()
            for half in (0, 1):
                for partition in range(half, self._partitions, 2):
                    send(self._producer, self._topic, partition, value=value)
                flush(self._producer)
            self._producer.commit_transaction(FLUSH_SECONDS)


def write_transactions(cluster: dict[str, object], topic: str, partitions: int, transactions: int, record_bytes: int) -> None:
    """Writes committed transactions of one record in each partition; OPEN_AT_ANY_TIME of them are open together."""
    stop = threading.Event()
    shares = [transactions // OPEN_AT_ANY_TIME + (number < transactions % OPEN_AT_ANY_TIME) for number in range(OPEN_AT_ANY_TIME)]
    with ThreadPoolExecutor(OPEN_AT_ANY_TIME) as pool:
        writers = list(pool.map(lambda number: Writer(cluster, topic, partitions, number), range(OPEN_AT_ANY_TIME)))
        written = [pool.submit(writer.write, share, record_bytes, stop) for writer, share in zip(writers, shares)]
        try:
            for future in written:
                future.result()
        finally:
            stop.set()
