"""An archive of the classes that Spark loads. Java maps it instead of reading and proving them, so a start takes half the time.

Java itself looks whether an archive was made of these very jars, and does without one that was not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from dwh_assets.warehouse.java import jars_folder, package_folder

MAIN = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"  # carries out a file of SQL, and ends
DEADLINE_SECONDS = 900.0
KEPT = 3  # archives in the cache, which environments and versions share; each is 200 MB
_PREFIX = "classes-"
TABLE = "create table warm.a.t (id bigint, at timestamp, name string) using iceberg partitioned by (days(at))"
_STATEMENTS = f"""
create namespace warm.a;
{TABLE};
insert into warm.a.t select id, timestamp_seconds(id), cast(id as string) from range(100);
insert into warm.a.t
  select t.id, max(t.at), max(r.name) from warm.a.t t join (select id, cast(id as string) as name from range(100)) r
  on t.id = r.id where t.id > 10 and t.at > timestamp '1970-01-01' group by t.id order by t.id;
"""


def archive_of(java: Path, jars: Sequence[Path]) -> Path:
    """Where the archive of this Java, with the options of its environment, and of these jars lies, or would."""
    files = [java.resolve(), *sorted((package_folder("pyspark") / "jars").glob("*.jar")), *jars]
    known = [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    found = "\n".join([os.environ.get("JAVA_TOOL_OPTIONS", ""), *known])
    return jars_folder() / f"{_PREFIX}{blake2b(found.encode(), digest_size=8).hexdigest()}.jsa"


def plain_catalog(folder: Path) -> dict[str, str]:
    """A catalog in plain files: the warehouse's own is not touched, and the same classes are loaded."""
    name = "spark.sql.catalog.warm"
    return {name: "org.apache.iceberg.spark.SparkCatalog", f"{name}.type": "hadoop", f"{name}.warehouse": str(folder)}


def _conf(folder: Path) -> dict[str, str]:
    """Of a Spark that loads what the server loads."""
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": "0",
        "spark.local.dir": str(folder),
        "spark.sql.catalogImplementation": "in-memory",
        **plain_catalog(folder / "warm"),
    }


def make(archive: Path, java: Sequence[str], spark: Sequence[str], environment: Mapping[str, str], stop: threading.Event) -> bool:
    """Let a Java of its own, which gives way to everything else, load Spark and write down its classes as it ends. False if it
    did not come so far; then nothing of it is left. It ends by itself, also when we do not live to see it."""
    _remove_old(archive.parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=archive.parent) as name:
        folder = Path(name)
        new, statements = folder / "new.jsa", folder / "statements.sql"
        statements.write_text(_STATEMENTS)
        settings = [word for key, value in _conf(folder).items() for word in ("--conf", f"{key}={value}")]
        command = ["nice", "-n", "19", *java, f"-XX:ArchiveClassesAtExit={new}", *spark, *settings]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "spark-internal", "-f", str(statements)],
                cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            if not _ended(process, stop) or process.returncode or not new.exists():
                return False
        with new.open("rb") as file:
            os.fsync(file.fileno())  # a torn one would end each Java that maps it
        new.replace(archive)
    return True


def _ended(process: subprocess.Popen[bytes], stop: threading.Event) -> bool:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while process.poll() is None:
        if stop.wait(0.2) or time.monotonic() > deadline:
            process.kill()
            process.wait()
            return False
    return True


def _remove_old(folder: Path) -> None:
    """Of other versions, and what was left half done an hour ago."""
    archives = sorted(folder.glob(f"{_PREFIX}*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)
    for archive in archives[KEPT - 1 :]:
        archive.unlink(missing_ok=True)
    for half in folder.glob(f"{_PREFIX}*"):
        if half.is_dir() and half.stat().st_mtime < time.time() - 3600:
            shutil.rmtree(half, ignore_errors=True)
