"""A proxy in front of Postgres that cuts connections: all of them, or one instead of passing on the reply to a statement."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from psycopg.conninfo import conninfo_to_dict


class Proxy:
    """`cut(first, then)`: on a connection that has sent `first`, the reply to the next packet with `then` is lost, once."""

    def __init__(self, url: str) -> None:
        parts = conninfo_to_dict(url)
        self._server = (str(parts["host"]), int(parts["port"] or 5432))
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://{parts['user']}:{parts['password']}@127.0.0.1:{port}/{parts['dbname']}"
        self._wanted: tuple[bytes, bytes] | None = None
        self._ends: set[socket.socket] = set()
        self.cuts = 0
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut(self, first: bytes, then: bytes) -> None:
        self._wanted = (first, then)

    def cut_all(self) -> None:
        """Every connection that there is now."""
        for end in tuple(self._ends):
            _shut(end)

    def move(self, url: str) -> None:
        """The server has another port now."""
        parts = conninfo_to_dict(url)
        self._server = (str(parts["host"]), int(parts["port"] or 5432))

    def close(self) -> None:
        _shut(self._listener)  # it also wakes the thread that accepts
        self._listener.close()
        self.cut_all()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), name="proxy", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._server)
        except OSError:  # as if the client had asked the server itself
            client.close()
            return
        self._ends |= {client, server}
        cutting = threading.Event()
        threading.Thread(target=self._replies, args=(server, client, cutting), name="proxy", daemon=True).start()
        seen = False
        with suppress(OSError):
            while data := client.recv(1 << 16):
                wanted = self._wanted
                seen = seen or (wanted is not None and wanted[0] in data)
                if wanted is not None and seen and wanted[1] in data:
                    self._wanted = None
                    cutting.set()
                server.sendall(data)
        _shut(server)

    def _replies(self, server: socket.socket, client: socket.socket, cutting: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if cutting.is_set():  # the server has done it, the client will never hear of it
                    self.cuts += 1
                    break
                client.sendall(data)
        self._ends -= {client, server}
        for end in (server, client):
            _shut(end)
            end.close()


def _shut(end: socket.socket) -> None:
    """Wake whoever reads from it; closing alone would not, and its number might be another's by then."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    proxy = Proxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
