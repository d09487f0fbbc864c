"""Are the servers of a warehouse there, or can they be started? Nothing is started."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence

from dwh_assets.config.settings import Settings
from dwh_assets.control.inspecting import (
    LEAST,
    StoreState,
    embedded_checksums,
    embedded_version,
    inspect_store,
    place_of,
)
from dwh_assets.control.server import EmbeddedPostgres
from dwh_assets.engine.health import Finding
from dwh_assets.model.errors import ControlStoreDown, DwhError
from dwh_assets.model.module import Lineage
from dwh_assets.sources.kafka.server import PACKAGES as KAFKA_PACKAGES
from dwh_assets.warehouse import java
from dwh_assets.warehouse.server import SparkServer

NAME = "Postgres"


def check_postgres(settings: Settings) -> Iterator[Finding]:
    if settings.postgres_url is not None:
        yield from _outside(settings.postgres_url.get_secret_value())
        return
    server = EmbeddedPostgres(settings.home)
    if server.running():
        yield from _answered(inspect_store(server.url), "embedded, running")
        return
    server.require_ways()
    yield Finding(NAME, "ok", f"{embedded_version()}, embedded, not running; the next command starts it")
    if embedded_checksums(settings.home) is False:
        yield _without_checksums()


def _outside(url: str) -> Iterator[Finding]:
    try:
        yield from _answered(inspect_store(url), place_of(url))
    except ControlStoreDown as error:
        todo = "start it, or correct DWH_POSTGRES_URL; without it an embedded Postgres is used"
        yield Finding(NAME, "bad", f"{place_of(url)} does not answer: {error}", todo)


def _answered(state: StoreState, place: str) -> Iterator[Finding]:
    if state.number < LEAST:
        yield Finding(NAME, "bad", f"{state.version}, {place}: too old", f"use Postgres {LEAST} or newer")
        return
    yield Finding(NAME, "ok", f"{state.version}, {place}")
    if not state.checksums:
        yield _without_checksums()
    if state.unknown:
        text = f"its schema is newer than this code: {state.unknown} unknown migrations"
        yield Finding("schema", "bad", text, "install the dwh-assets that made it, or a later one")
    elif state.pending is None:
        yield Finding("schema", "ok", "none yet; the first command makes it")
    elif state.pending:
        yield Finding("schema", "warn", f"{state.pending} migrations wait", "the next command applies them; take a backup first")
    else:
        yield Finding("schema", "ok", "is that of this code")


def _without_checksums() -> Finding:
    text = "its pages carry no checksums: a damaged disk would be noticed late"
    return Finding("checksums", "warn", text, "stop it and run pg_checksums --enable")


def check_spark(settings: Settings) -> Iterator[Finding]:
    if settings.spark_remote:
        address = settings.spark_remote.removeprefix("sc://").split("/")[0].split(";")[0]
        if problem := unreachable(address, 15002):
            yield Finding("Spark", "bad", f"sc://{address} does not answer: {problem}", "start it, or correct DWH_SPARK_REMOTE")
        else:
            yield Finding("Spark", "ok", f"sc://{address} answers")
        return
    state = "running" if SparkServer(settings).running() else "not running; started when it is needed"
    missing = java.missing_packages(java.jars_folder())
    if missing:
        yield _to_fetch("Spark", missing)
    else:
        yield Finding(
            "Spark", "ok", f"{settings.spark_master}, heap {settings.spark_memory}, {state}; its jars are in {java.jars_folder()}"
        )


def _to_fetch(name: str, missing: Sequence[tuple[str, str, str]]) -> Finding:
    names = ", ".join(package[1] for package in missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    if problem := unreachable("repo1.maven.org:443", 443):
        text = f"its jars must be fetched ({names}) and Maven Central does not answer: {problem}"
        return Finding(
            name, "warn", text, f"let this machine reach it, or by a mirror, or put the jars into {java.jars_folder()} (DWH_JARS)"
        )
    return Finding(name, "ok", f"its jars are fetched once, at the first start: {names}")


def check_sources(settings: Settings, lineage: Lineage) -> Iterator[Finding]:
    """What the sources of the Lineage need: folders, brokers, and the variables that hold their addresses."""
    for source in (source for source in lineage.sources if source.active):
        if source.url_env:
            yield _source_database(f"source {source.name}", source.url_env)
        folder = source.files.path if source.files else "."
        if not (settings.project / folder).is_dir():
            yield Finding(f"source {source.name}", "bad", f"there is no folder {folder}", f"mkdir -p {folder}")
    yield from _brokers(settings, lineage)


def _source_database(name: str, variable: str) -> Finding:
    url = os.environ.get(variable, "")
    if not url:
        return Finding(name, "bad", f"the variable {variable} with its URL is not set", f"export {variable}=postgresql://...")
    try:
        return Finding(name, "ok", f"Postgres {inspect_store(url).version}, {place_of(url)}")
    except DwhError as error:
        return Finding(name, "bad", f"{place_of(url)} does not answer: {error}", f"start it, or correct {variable}")


def _brokers(settings: Settings, lineage: Lineage) -> Iterator[Finding]:
    of_sources = [source.kafka for source in lineage.sources if source.active and source.kafka is not None]
    named = {broker for kafka in of_sources for broker in kafka.brokers}
    unnamed = any(not kafka.brokers for kafka in of_sources)
    named |= set((settings.kafka_bootstrap or "").split(",")) - {""} if unnamed else set()
    yield from (_broker(broker) for broker in sorted(named))
    if unnamed and settings.kafka_bootstrap is None:
        folder = java.jars_folder() / f"{KAFKA_PACKAGES[0][1]}-{KAFKA_PACKAGES[0][2]}"
        missing = java.missing_packages(folder, KAFKA_PACKAGES)
        own = Finding("Kafka", "ok", "a broker of its own is started when it is needed")
        yield _to_fetch("Kafka", missing) if missing else own


def _broker(address: str) -> Finding:
    if problem := unreachable(address, 9092):
        todo = "start it, or correct the source's file or DWH_KAFKA_BOOTSTRAP"
        return Finding("Kafka", "bad", f"{address} does not answer: {problem}", todo)
    return Finding("Kafka", "ok", f"{address} answers")


def unreachable(address: str, default_port: int, seconds: float = 3) -> str:
    """Why nobody listens at host:port; empty if somebody does."""
    host, _, port = address.rpartition(":") if ":" in address else (address, "", str(default_port))
    try:
        socket.create_connection((host, int(port)), timeout=seconds).close()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return ""
