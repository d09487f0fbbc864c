"""dwh metrics, and the endpoint that `dwh up` serves: HTTP on loopback, one path."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import typer

from dwh_assets.cli.opening import control_store, settings_of
from dwh_assets.cli.output import Printer
from dwh_assets.cli.stopping import stopping
from dwh_assets.config.machine import port_is_free
from dwh_assets.config.settings import Settings
from dwh_assets.control.database import Database
from dwh_assets.control.metrics import Scrape

HOST = "127.0.0.1"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
DASHBOARD = Path(__file__).with_name("grafana.json")


def metrics(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Print them and end.")] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Print a Grafana dashboard that shows them.")] = False,
) -> None:
    """Serve metrics for Prometheus on loopback until it is stopped; `dwh up` serves them, too."""
    if dashboard:
        typer.echo(DASHBOARD.read_text(encoding="utf-8"), nl=False)
        return
    settings = settings_of(context)
    with stopping() as signals, control_store(settings) as database:
        if once:
            typer.echo(Scrape(database).text(), nl=False)
            return
        with serving(settings, database) as url:
            Printer().say(f"metrics: [bold]{url}[/]  [dim](Ctrl-C ends this)[/]")
            signals.gentle, signals.text = True, "stopping"
            signals.stop.wait()
    raise typer.Exit(signals.exit_code)


@contextmanager
def serving(settings: Settings, database: Database) -> Iterator[str | None]:
    """Serve at DWH_METRICS_PORT, or at a free port if that is taken; None where it is 0."""
    if settings.metrics_port == 0:
        yield None
        return
    port = settings.metrics_port if port_is_free(settings.metrics_port) else 0
    server = ThreadingHTTPServer((HOST, port), _handler(Scrape(database)))
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(scrape: Scrape) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # a client that says nothing must not hold a thread for ever

        def do_GET(self) -> None:
            if self.path.partition("?")[0] not in ("/metrics", "/"):
                self.send_error(404, "the metrics are at /metrics")
                return
            body = scrape.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """One line per scrape would bury the rest."""

    return Handler
