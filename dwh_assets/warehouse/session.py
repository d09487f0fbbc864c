"""Spark Connect sessions on the warehouse's catalog, and what their errors mean."""

from __future__ import annotations

import atexit
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import parse_qs, unquote, urlsplit

import grpc
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException, UnknownException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.dataframe import DataFrame as ConnectDataFrame
from pyspark.sql.connect.plan import SQL, SubqueryAlias
from pyspark.sql.connect.session import SparkSession

from dwh_assets.model.errors import ConfigError, DamagedData, DiskFull, DwhError, PositionsLost, SourceDown, SparkLost
from dwh_assets.warehouse.catalog import CATALOG
from dwh_assets.warehouse.damage import damaged_files
from dwh_assets.warehouse.object_store import ObjectStore

logger = logging.getLogger(__name__)
SESSION_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Rows that are kept aside are read twice at most: to compress them costs more than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}
_LOST = re.compile(
    r"StatusCode\.UNAVAILABLE|Connection refused|Socket closed|INVALID_HANDLE\.(SESSION|OPERATION)_"
    r"|SESSION_CHANGED|SESSION_CLOSED|SparkContext (was|has been) (shut down|stopped)"
    r"|Cannot call methods on a stopped SparkContext|on closed channel|NO_ACTIVE_SESSION",
    re.IGNORECASE,
)
_FULL = re.compile(r"No space left on device|ENOSPC|Disk quota exceeded", re.IGNORECASE)
_DAMAGED = re.compile(
    r"CRC checksum verification failed|could not verify .*page integrity|is not a Parquet file|FAILED_READ_FILE|CANNOT_READ_FILE"
    r"|ParquetDecodingException|Not an Avro data file|Failed to read footer|Invalid Parquet file|corrupt(ed)? (file|footer|page)"
    r"|can not read class \S*parquet|TProtocolException|Failed to fetch file|Reached the end of stream|EOFException"
    r"|FileNotFoundException|NotFoundException|File does not exist|Failed to open input stream for file",
    re.IGNORECASE,
)
_STREAM_LOST = re.compile(r"data may have been lost because they are not available in Kafka|OffsetOutOfRange", re.IGNORECASE)
_BROKER = re.compile(
    r"org\.apache\.kafka\.common\.errors\.\w*(Timeout|Disconnect|Network|NotAvailable|NotLeader|Retriable)\w*"
    r"|Cannot fetch record for offset|Failed to (construct kafka consumer|get offset)|Bootstrap broker .* disconnected"
    r"|KAFKA_DATA_LOSS|Timeout of \d+ms expired before (the )?(position|successfully)",
    re.IGNORECASE,
)
# Of a source, or of the catalog: not Spark is lost then, though Java says that a connection was refused.
_DATABASE = re.compile(
    r"PSQLException[:)] ([^\n]*(refused|connection attempt failed|I/O error occurred|connection has been closed)"
    r"|FATAL: (terminating connection|the database system is|sorry, too many clients))",
    re.IGNORECASE,
)
# A reader can stumble over a flipped bit in any way; then it is damage if a file is found that cannot be read.
_READER = re.compile(
    r"iceberg\.parquet\.|parquet\.(hadoop|format|column|io)\.|ParquetReader|RuntimeIOException|iceberg\S*\.avro\."
)
_FILE = re.compile(r"(?:[a-z0-9]+:/)?/[^\s'\",;()\[\]]+\.(?:parquet|avro|orc|puffin|metadata\.json)")


class Session(SparkSession):
    """A session that is closed by `stop` alone. Spark's own closes itself when it is collected, which happens in any thread and
    within any call: it waits there for threads that all sessions share, and one of these may be the collecting thread itself."""

    def __del__(self) -> None:
        pass


def open_session(remote: str, postgres_url: str, warehouse_root: str, store: ObjectStore | None = None) -> SparkSession:
    """A session of its own whose default catalog is the warehouse. The password travels here, not on Java's command line."""
    session = open_plain_session(remote)
    with _opening(session):
        reached = {} if store is None else store.for_spark()
        for name, value in (_catalog(postgres_url, warehouse_root) | reached).items():
            session.conf.set(f"spark.sql.catalog.{CATALOG}{name}", value)
        session.conf.set("spark.sql.defaultCatalog", CATALOG)
    make_active(session)
    return session


def make_active(session: SparkSession) -> None:
    """Functions of users (udf), checkpoints and types in text ask for this thread's active session, not the DataFrame's own."""
    SparkSession._active_session.session = session


def open_plain_session(remote: str) -> SparkSession:
    """A session of its own without the warehouse's catalog."""
    # Not by the builder: its first call would wait 10 minutes for a dead server; the engine starts a new one much sooner.
    _quiet_loggers()
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # or pyspark.sql.functions would look for a JVM in this process
    session = Session(connection=remote)
    session.client.set_retry_policies([DefaultPolicy(max_retries=4, max_backoff=1000)])
    with _opening(session):
        for name, value in SESSION_DEFAULTS.items():
            session.conf.set(name, value)
    return session


@contextmanager
def _opening(session: SparkSession) -> Iterator[None]:
    """One that could not be opened leaves nothing behind: Spark's library would keep it, and ask its server once more when the
    process ends, one such session after the other."""
    try:
        with spark_errors():
            yield
    except Exception:
        _leave(session)
        raise


def end_session(session: SparkSession) -> None:
    """End its jobs, and itself: a job that is still on its way to the server would begin after it was interrupted, and go on
    although nobody waits for it. A session that has ended takes none."""
    with spark_errors():
        session.interruptAll()
        try:
            session.client.release_session()
        except UnknownException as error:
            # It stumbles over the books of a job that was not begun yet, after it has interrupted it and closed the session.
            logger.info("%s", error)
    _leave(session)


def _leave(session: SparkSession) -> None:
    """Not by `stop`, which waits for threads that all sessions share."""
    atexit.unregister(session.client._cleanup_ml_cache)
    session.client._channel.close()


def _quiet_loggers() -> None:
    """Spark's library prints each error to the terminal by handlers of its own; it is told once, in our words."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)  # one of another class, made before it, could not take its arguments
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False


def query(session: SparkSession, text: str, tables: Mapping[str, DataFrame]) -> DataFrame:
    """A query over these rows by name. The server hears of both together when it is used; session.sql would ask it at once."""
    return ConnectDataFrame(_with_tables(text, tables), session)


def run(session: SparkSession, text: str, tables: Mapping[str, DataFrame]) -> None:
    """Carry out a statement over these rows by name."""
    session.client.execute_command(_with_tables(text, tables).command(session.client))


def _with_tables(text: str, tables: Mapping[str, DataFrame]) -> SQL:
    views = [SubqueryAlias(rows._plan, name) for name, rows in tables.items() if isinstance(rows, ConnectDataFrame)]
    return SQL(text, [], {}, views)


@contextmanager
def spark_errors(files: Callable[[], Iterable[str]] = tuple, session: SparkSession | None = None) -> Iterator[None]:
    """Turn what Spark says of a lost server, a full disk or a damaged file into our errors; the rest passes through.

    A failed page checksum comes without its file's name: then `files`, the data files that were read, are searched for it,
    with this session where other readers find nothing.
    """
    try:
        yield
    except (PySparkException, grpc.RpcError, ConnectionError) as error:
        with spark_errors():  # Spark may be lost while the file is searched for
            translated = translate(error, files, session)
        if translated is None:
            raise
        raise translated from error


def translate(
    error: Exception, files: Callable[[], Iterable[str]] = tuple, session: SparkSession | None = None
) -> DwhError | None:
    """Our error for one of Spark's, or None where Spark's own says it best."""
    text = _whole_text(error)
    if _STREAM_LOST.search(text):
        return PositionsLost(
            "the broker no longer holds events of this block; nothing was published and no cursor moved.\n"
            "The next attempt names the offsets. `dwh kafka seek` goes on without them, `dwh skip` leaves the block out."
        )
    if _BROKER.search(text):
        return SourceDown("the broker went away while its events were read; nothing was published, the block is tried again.")
    if _DATABASE.search(text):
        return SourceDown(
            "a database that Spark reads, that of a source or the control store, refused or lost its connection.\n"
            "Nothing was published by this attempt; it is tried again, after a pause."
        )
    if _FULL.search(text):
        return DiskFull(
            f"a disk is full{_named(text)}; the attempt wrote to a branch only, published data is intact.\n"
            "Free some space in the warehouse and in DWH_HOME; the same block is tried again."
        )
    if isinstance(error, (grpc.RpcError, ConnectionError)) or _LOST.search(text):
        return SparkLost(
            "the Spark server does not answer for this session any more.\n"
            "Nothing was published by this attempt; it is tried again with a new session, on a new server if it is gone."
        )
    if (sure := _DAMAGED.search(text)) or _READER.search(text):
        names = _named(text) or _named("\n".join(damaged_files([*files()], session)))
        if not (sure or names):
            return None
        return DamagedData(
            f"a data file is damaged or missing{names}; the attempt stopped, nothing was published.\n"
            "Restore the file from a backup, or load its block again (dwh repair)."
        )
    return None


def _whole_text(error: Exception) -> str:
    stack = error.getStackTrace() if isinstance(error, SparkConnectGrpcException) else None
    return f"{error}\n{stack or ''}"


def _named(text: str) -> str:
    files = list(dict.fromkeys(_FILE.findall(text)))
    return f": {', '.join(files[:3])}" if files else ""


def _catalog(postgres_url: str, warehouse_root: str) -> dict[str, str]:
    parts = urlsplit(postgres_url)
    if parts.scheme not in ("postgresql", "postgres") or not parts.hostname:
        raise ConfigError("DWH_POSTGRES_URL must look like postgresql://user:password@host:port/database")
    ssl = parse_qs(parts.query).get("sslmode", [])
    options = "&".join(["currentSchema=iceberg", *(f"sslmode={mode}" for mode in ssl)])
    return {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:postgresql://{parts.hostname}:{parts.port or 5432}{parts.path}?{options}",
        ".jdbc.schema-version": "V1",
        ".jdbc.user": unquote(parts.username or ""),
        ".jdbc.password": unquote(parts.password or ""),
        ".warehouse": warehouse_root,
        ".cache-enabled": "false",
    }
