"""A web server and a mail server on loopback that keep what they are told, and fail when they are told to."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebListener(ThreadingHTTPServer):
    """Answers each POST with `status`, once it is let go."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.status = 200
        self.bodies: list[dict[str, Any]] = []
        self.gets = 0
        self.asked = threading.Event()
        self.let_go = threading.Event()
        self.let_go.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hooks/canary"

    @property
    def ids(self) -> list[int]:
        return [alert["id"] for body in self.bodies for alert in body["alerts"]]


class _Post(BaseHTTPRequestHandler):
    server: WebListener  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.set()
        self.server.let_go.wait(30)
        if self.server.status == 200:
            self.server.bodies.append(body)
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.gets += 1
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal belongs to the test."""


class MailListener(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP as a sender needs; `takes_password` decides a login, and its refusal repeats what was said."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Mail)
        self.takes_password = True
        self.said: list[str] = []
        self.mails: list[str] = []

    @property
    def port(self) -> int:
        return self.server_address[1]


class _Mail(socketserver.StreamRequestHandler):
    server: MailListener  # pyright: ignore[reportIncompatibleVariableOverride]

    def handle(self) -> None:
        self._answer("220 listener")
        while line := self.rfile.readline().decode().strip():
            self.server.said.append(line)
            word = line.split(" ")[0].upper()
            if word == "DATA":
                self._answer("354 go on")
                self.server.mails.append(self._mail())
            if word == "AUTH" and not self.server.takes_password:
                self._answer(f"535 not with {line}")
                continue
            self._answer({"EHLO": "250-listener\r\n250 AUTH PLAIN", "AUTH": "235 come in", "QUIT": "221 bye"}.get(word, "250 ok"))
            if word == "QUIT":
                return

    def _mail(self) -> str:
        lines = []
        while (line := self.rfile.readline().decode().rstrip("\r\n")) != ".":
            lines.append(line)
        return "\n".join(lines)

    def _answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
