"""Creating tables, widening them, and holding a block's output against its table's columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pyiceberg.types as ice
import pyspark.sql.types as spark
from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform

from dwh_assets.model.errors import SchemaDrift
from dwh_assets.model.failpoints import protected
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.schemas import fits, sql_type, to_iceberg, widens

AUDIT = {"_block": spark.LongType(), "_execution": spark.LongType(), "_loaded_at": spark.TimestampType()}
PROPERTIES = {
    "format-version": "2",
    "write.delete.mode": "copy-on-write",
    "write.update.mode": "copy-on-write",
    "write.merge.mode": "copy-on-write",
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.parquet.compression-codec": "zstd",
    # Said aloud, it holds for every column; left out, Iceberg measures only the first 100.
    "write.metadata.metrics.default": "truncate(16)",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "20",
}


def desired_schema(output: spark.StructType) -> Schema:
    """The columns of a table that takes this output: its own, then the audit columns."""
    own = [field for field in output.fields if field.name.lower() not in AUDIT]
    twice = [name for name, n in Counter(field.name.lower() for field in own).items() if n > 1]
    if twice:
        raise SchemaDrift(
            f"the output has the column {', '.join(twice)} more than once.\n"
            "Nothing was changed. Give each column of the transform its own name; upper and lower case count as equal."
        )
    return to_iceberg(spark.StructType([*own, *(spark.StructField(name, type_) for name, type_ in AUDIT.items())]))


def changes(catalog: Catalog, name: str, schema: Schema) -> list[str]:
    """What an apply would do, in words; empty when the table fits. What it must not do is raised as SchemaDrift."""
    if not catalog.exists(name):
        columns = ", ".join(f"{field.name} {sql_type(field.field_type)}" for field in schema.fields)
        return [f"create table {name} ({columns})"]
    return list(_differences(name, "", catalog.load(name).schema().as_struct(), schema.as_struct()))


def create_or_widen(
    catalog: Catalog, name: str, output: spark.StructType, partition_by: str | None, extra: Mapping[str, str]
) -> list[str]:
    """Make the table fit the output; `extra` are table properties. Returns what was done, in words."""
    schema = desired_schema(output)
    done = changes(catalog, name, schema)
    if not catalog.exists(name):
        try:
            _create(catalog, name, schema, partition_by, extra)
        except (TableAlreadyExistsError, CommitFailedException):
            return create_or_widen(catalog, name, output, partition_by, extra)
        return done
    if done:
        catalog.change(name, lambda table: _widen(table, schema))
    if catalog.load(name).current_snapshot() is None:
        catalog.change(name, _write_empty_snapshot)
    return done


def audit_columns(catalog: Catalog, name: str) -> list[str]:
    """The audit columns that the table has now."""
    present = {field.name.lower() for field in catalog.load(name).schema().fields}
    return [column for column in AUDIT if column in present]


def check_output(catalog: Catalog, name: str, output: spark.StructType, allow_missing: bool = False) -> list[str]:
    """The table's own columns in their order, once the output is known to fill each of them and nothing else (R10).

    Audit columns are not counted on either side: whoever writes the block stamps them anew. `allow_missing`: the output is
    merged, and columns that it does not bring keep their value.
    """
    columns = {f.name.lower(): f for f in catalog.load(name).schema().fields if f.name not in AUDIT}
    given = {f.name.lower(): f for f in desired_schema(output).fields if f.name not in AUDIT}
    for key in [*columns, *given] if protected("columns") else ():
        if key not in given and allow_missing:
            continue
        if key not in given:
            raise _drift(name, columns[key].name, columns[key].field_type, None, "the output lacks it")
        if key not in columns:
            raise _drift(name, given[key].name, None, given[key].field_type, "the table lacks it")
        if not fits(given[key].field_type, columns[key].field_type):
            raise _drift(name, columns[key].name, columns[key].field_type, given[key].field_type, "the types differ")
    return [field.name for key, field in columns.items() if key in given]


def _create(catalog: Catalog, name: str, schema: Schema, partition_by: str | None, extra: Mapping[str, str]) -> None:
    spec = UNPARTITIONED_PARTITION_SPEC
    if partition_by is not None:
        source = schema.find_field(partition_by, case_sensitive=False)
        spec = PartitionSpec(PartitionField(source.field_id, 1000, DayTransform(), f"{source.name}_day"))
    with catalog.asking(name):
        catalog.sql.create_namespace_if_not_exists(name.rpartition(".")[0])
        # A branch needs a snapshot to start from: the table and its empty first one appear together.
        new = catalog.sql.create_table_transaction(name, schema, partition_spec=spec, properties={**PROPERTIES, **extra})
        with new as transaction, transaction.update_snapshot().fast_append():
            pass


def _widen(table: Table, schema: Schema) -> None:
    with table.update_schema(case_sensitive=False) as update:
        update.union_by_name(schema)


def _write_empty_snapshot(table: Table) -> None:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append():
        pass


def _differences(table: str, path: str, old: ice.StructType, new: ice.StructType) -> Iterator[str]:
    wanted = {field.name.lower(): field for field in new.fields}
    present = {field.name.lower(): field for field in old.fields}
    for key, field in present.items():
        if key not in wanted:
            raise _drift(table, path + field.name, field.field_type, None, "a column is never dropped")
        yield from _difference(table, path + field.name, field.field_type, wanted[key].field_type)
    for key, field in wanted.items():
        if key not in present:
            yield f"add column {table}.{path}{field.name} {sql_type(field.field_type)}"


def _difference(table: str, column: str, old: ice.IcebergType, new: ice.IcebergType) -> Iterator[str]:
    if isinstance(old, ice.StructType) and isinstance(new, ice.StructType):
        yield from _differences(table, f"{column}.", old, new)
    elif isinstance(old, ice.ListType) and isinstance(new, ice.ListType):
        yield from _difference(table, f"{column}.element", old.element_type, new.element_type)
    elif isinstance(old, ice.MapType) and isinstance(new, ice.MapType) and old.key_type == new.key_type:
        yield from _difference(table, f"{column}.value", old.value_type, new.value_type)
    elif widens(old, new):
        yield f"widen column {table}.{column} from {sql_type(old)} to {sql_type(new)}"
    elif old != new:
        reason = "a column is never narrowed" if widens(new, old) else "a column never changes its type"
        raise _drift(table, column, old, new, reason)


def _drift(table: str, column: str, old: ice.IcebergType | None, new: ice.IcebergType | None, reason: str) -> SchemaDrift:
    in_table = sql_type(old) if old else "absent"
    in_output = sql_type(new) if new else "absent"
    if old is None:
        advice = "run `dwh lineage apply` to add it to the table, or take it out of the transform"
    elif new is None:
        advice = f"give it back in the transform, for example `cast(null as {in_table}) as {column}`"
    else:
        advice = f"cast it in the transform, for example `cast(... as {in_table}) as {column}`, or give it a new name"
    return SchemaDrift(
        f"table {table}, column {column}: {in_table} in the table, {in_output} in the output; {reason}.\n"
        f"The table is unchanged and nothing was published. To go on, {advice}."
    )
