"""A TCP proxy before the brokers of a cluster, which shows every request and answer to the faults in force.

It has one port for each broker, and the brokers tell their clients these ports (scripts/kafka start --proxied). Requests
of one connection stay in order, and so do answers. The end of a client does not take back what it sent: a request that is
held goes on to the broker when it is released, as one does that was on the network when its sender died.
"""

import socket
import struct
import threading

from faults import Connection, Exchange, Faults
from kafka_frames import correlation_of, read_header

FRAME_BYTES_MAX = 200 * 1024 * 1024
CONNECT_SECONDS = 10
LOOPBACK = "127.0.0.1"


class FaultProxy:
    """Ports for so many brokers, which listen at once; connections go on to the brokers from start() on."""

    def __init__(self, brokers: int) -> None:
        self.faults = Faults()
        self._listeners = [socket.create_server((LOOPBACK, 0), backlog=100) for _ in range(brokers)]
        self.ports = [listener.getsockname()[1] for listener in self._listeners]
        self.bootstrap = ",".join(f"{LOOPBACK}:{port}" for port in self.ports)
        self._links: list[Link] = []
        self._lock = threading.Lock()

    def start(self, broker_ports: list[int]) -> None:
        """Passes connections on to these ports, in the order of `ports`."""
        for broker, (listener, port) in enumerate(zip(self._listeners, broker_ports, strict=True), 1):
            threading.Thread(target=self._accept, args=(listener, broker, port), daemon=True).start()

    def _accept(self, listener: socket.socket, broker: int, port: int) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # stopped
            try:
                server = socket.create_connection((LOOPBACK, port), CONNECT_SECONDS)
            except OSError:
                client.close()  # the broker is down: the client sees it go
                continue
            server.settimeout(None)
            link = Link(client, server, broker, self.faults)
            with self._lock:
                self._links = [known for known in self._links if known.is_alive()] + [link]
                link.start()

    def stop(self) -> None:
        """Ends the faults and all connections."""
        self.faults.clear()
        for listener in self._listeners:
            shut(listener)  # close() alone would leave accept() waiting
            listener.close()
        with self._lock:
            links, self._links = self._links, []
        for link in links:
            link.stop()


class Link:
    """A client's connection and the one to the broker that belongs to it; a thread for each direction."""

    def __init__(self, client: socket.socket, server: socket.socket, broker: int, faults: Faults) -> None:
        self._client, self._server, self._broker, self._faults = client, server, broker, faults
        self._connection = Connection()
        self._connection.close_client = lambda: shut(client)
        self._client_gone = False
        self._waiting: dict[int, Exchange] = {}  # by correlation id; each of the two threads does one atomic step with it
        self._threads = [threading.Thread(target=self._pass_requests, daemon=True), threading.Thread(target=self._pass_answers, daemon=True)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def is_alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        shut(self._client)
        shut(self._server)
        for thread in self._threads:
            thread.join(CONNECT_SECONDS)

    def _pass_requests(self) -> None:
        try:
            while (frame := read_frame(self._client)) is not None:
                header = read_header(frame)
                exchange = Exchange(header.api, header.version, frame, self._broker, self._connection)
                self._faults.take(exchange)
                self._waiting[header.correlation] = exchange
                for fault in exchange.taken_by:
                    if frame is not None or fault.loses:
                        frame = fault.on_request(exchange, frame)
                if frame is None:
                    del self._waiting[header.correlation]
                else:
                    write_frame(self._server, frame)
        except OSError:
            pass  # one of the two is gone
        finally:
            self._client_gone = True
            self._end_when_answered()

    def _pass_answers(self) -> None:
        try:
            while (frame := read_frame(self._server)) is not None:
                exchange = self._waiting.pop(correlation_of(frame), None)
                for fault in exchange.taken_by if exchange else []:
                    if frame is not None or fault.loses:
                        frame = fault.on_answer(exchange, frame)
                if frame is not None and not self._connection.silent:
                    self._answer(frame)
                self._end_when_answered()
        except OSError:
            pass
        finally:
            shut(self._client)
            self._threads[0].join()
            self._client.close()
            self._server.close()

    def _end_when_answered(self) -> None:
        """A broker need not act on requests whose connection ends right behind them, so theirs stays until it has."""
        if self._client_gone and not self._waiting:
            shut(self._server)

    def _answer(self, frame: bytes) -> None:
        late, self._connection.behind_next = self._connection.behind_next, None
        try:
            write_frame(self._client, frame)
            if late is not None:
                write_frame(self._client, late)
        except OSError:
            pass  # the client has gone; what it sent may still be on its way to the broker


def shut(connection: socket.socket) -> None:
    """Ends a connection for whoever reads from it or writes to it, in any thread."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended already


def read_exactly(connection: socket.socket, count: int) -> bytes | None:
    """None: it ends before."""
    data = bytearray()
    while len(data) < count:
        more = connection.recv(min(count - len(data), 1 << 20))
        if not more:
            return None
        data += more
    return bytes(data)


def read_frame(connection: socket.socket) -> bytes | None:
    """The next frame without its leading size; None at the end."""
    size = read_exactly(connection, 4)
    if size is None:
        return None
    length = struct.unpack(">i", size)[0]
    if not 0 <= length <= FRAME_BYTES_MAX:
        raise OSError(f"no Kafka frame: it would have {length} bytes")
    return read_exactly(connection, length)


def write_frame(connection: socket.socket, frame: bytes) -> None:
    """Puts the size in front."""
    connection.sendall(struct.pack(">i", len(frame)) + frame)
