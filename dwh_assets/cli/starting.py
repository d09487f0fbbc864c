"""What `dwh up` starts before its loop: Spark, a broker if one is needed, the demo's feed, the Lineage of this project."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.metadata import version

from dwh_assets.cli.opening import who
from dwh_assets.cli.output import Printer, warn, working
from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.demo.feed import Feed
from dwh_assets.engine.apply import Preview, apply
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.presence import keeping_broker, needs_broker, start_broker
from dwh_assets.model.module import Lineage

logger = logging.getLogger(__name__)
ARCHIVE_AFTER_SECONDS = 60.0


@contextmanager
def start(engine: Engine, feed: bool | None, stop: threading.Event) -> Iterator[None]:
    """Everything a loop needs; the feed runs until `stop` is set."""
    settings = engine.settings
    lineage = load_lineage(settings.lineage_folder, settings.transforms_folder)
    fed = settings.demo_feed if feed is None else feed
    with ThreadPoolExecutor(1) as pool:
        spark = pool.submit(start_spark, engine, stop)
        brokers = broker_for(engine, lineage, bus=settings.bus == "kafka")
        feeder = Feed(engine.catalog, engine.postgres_url, brokers=brokers) if fed else None
        if feeder is not None:
            with working("the demo's shop makes up its past", long=True):
                feeder.prepare()
                feeder.backlog()
        with working("starting Spark (10 to 30 s; the first time it fetches its jars)", long=True):
            spark.result()
    with working("applying the Lineage", long=True):
        applied = apply(engine, lineage, who())
    _tell(engine, lineage, applied, brokers, fed)
    for text in applied.warnings:
        warn(text)
    works = {"archive": partial(_archive, engine)} | ({} if feeder is None else {"feed": feeder.run})
    with keeping_broker(settings, stop) if brokers else nullcontext(), _beside(stop, works):
        yield


def broker_for(engine: Engine, lineage: Lineage, bus: bool = False) -> str | None:
    """host:port of the brokers of sources that name none, and of the bus where it is one; None if nobody needs them."""
    if not (bus or needs_broker(lineage)):
        return None
    with working("starting the broker"):
        return start_broker(engine.settings)


def start_spark(engine: Engine, stop: threading.Event) -> None:
    engine.spark.start()
    if engine.settings.spark_remote is None and not stop.is_set():
        engine.spark.warm()


@contextmanager
def _beside(stop: threading.Event, works: Mapping[str, Callable[[threading.Event], None]]) -> Iterator[None]:
    """Threads that end when `stop` is set, as it is on leaving."""
    threads = [threading.Thread(target=work, args=(stop,), name=name, daemon=True) for name, work in works.items()]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _archive(engine: Engine, stop: threading.Event) -> None:
    """When the first minute, in which people wait for tables, is over: Spark's next start shall take half the time."""
    if engine.settings.spark_remote or stop.wait(ARCHIVE_AFTER_SECONDS):
        return
    try:
        made = engine.spark.archive_classes(stop)
    except OSError as error:
        logger.warning("Spark's classes could not be archived: %s", error)
    else:
        logger.info("Spark's classes %s", "are archived" if made else "were not archived; it starts without that")


def _tell(engine: Engine, lineage: Lineage, applied: Preview, brokers: str | None, fed: bool) -> None:
    settings, say = engine.settings, Printer().say
    embedded = "" if settings.postgres_url else " (embedded Postgres)"
    master = "" if settings.spark_remote else f" ({settings.spark_master})"
    say(f"[bold]dwh {version('dwh-assets')}[/]  {settings.home}")
    say(f"  control store  {engine.database.place}{embedded}")
    say(f"  Spark          {engine.spark.url}{master}")
    if brokers:
        say(f"  Kafka          {brokers}")
    say(f"  tables         {settings.warehouse_root}")
    say(f"  Lineage        {len(lineage.modules)} modules, {len(lineage.sources)} sources; {changes_in_words(applied)}")
    if fed:
        say("  feed           the demo's shop is open; its sources grow as long as this runs")
    say(f"  log            {settings.home / 'logs' / 'dwh.log'}")
    say("[dim]Look with `dwh status` in another terminal; Ctrl-C ends everything.[/]\n")


def changes_in_words(applied: Preview) -> str:
    kinds = [change.kind for change in applied.modules]
    words = [f"{kinds.count(kind)} {word}" for kind, word in _WORDS.items() if kind in kinds]
    return ", ".join(words) or "nothing changed"


_WORDS = {"add": "added", "change": "changed", "remove": "removed"}
