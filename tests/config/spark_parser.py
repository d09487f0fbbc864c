"""The parser of Spark itself, in a small Java of its own: which tables, functions and operators it sees in a text.

It only parses: nothing is looked up, planned or run, so that ten thousand texts take a minute.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JJavaError

from dwh_assets.warehouse.java import find_java, options, package_folder

_OPERATOR = re.compile(r"org\.apache\.spark\.sql\.(?!catalyst\.expressions\.).*\.(\w+)\$?")
_NAMES = {"UnresolvedFunction": "nameParts", "UnresolvedTableValuedFunction": "name"}


@dataclass
class Reading:
    """What Spark sees in one text. A table that is a name given by WITH is none."""

    tables: list[str] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)


class SparkParser:
    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def read(self, text: str) -> Reading | None:
        """None when Spark refuses the text."""
        try:
            plan = self._parser.parsePlan(text)
        except Py4JJavaError as error:
            if not str(error.java_exception.getClass().getName()).startswith("org.apache.spark."):
                raise
            return None
        reading, given = Reading(), set[str]()
        for node in _nodes(json.loads(plan.toJSON())):
            _note(node, reading, given)
        reading.tables = sorted(table for table in reading.tables if table not in given)
        return reading


@contextmanager
def spark_parser() -> Iterator[SparkParser]:
    jars = package_folder("pyspark") / "jars"
    started = subprocess.Popen(
        [str(find_java()), *options(), "-Xss16m", "-cp", f"{jars}/*", "py4j.GatewayServer", "--die-on-broken-pipe", "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stdout is not None
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=int(started.stdout.readline())))
    try:
        yield SparkParser(gateway.jvm.org.apache.spark.sql.execution.SparkSqlParser())  # pyright: ignore
    finally:
        gateway.close()
        started.communicate()  # it ends when its standard input does


def _nodes(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(part)


def _note(node: dict[str, Any], reading: Reading, given: set[str]) -> None:
    kind = str(node.get("class", "")).rpartition(".")[2]
    if kind in _NAMES:
        reading.functions.add(_plain(node[_NAMES[kind]]))
    elif kind == "UnresolvedGenerator":
        reading.functions.add(str(node["name"]["funcName"]).lower())
    elif kind == "UnresolvedRelation":
        reading.tables.append(_plain(node["multipartIdentifier"]))
    elif kind == "UnresolvedWith":
        given |= {str(relation["_1"]).lower() for relation in node["cteRelations"]}
    if operator := _OPERATOR.fullmatch(str(node.get("class", ""))):
        reading.operators.add(operator[1])


def _plain(parts: str) -> str:
    """`[stage, sales]` as stage.sales."""
    return ".".join(part.strip().lower() for part in parts.strip("[]").split(","))
