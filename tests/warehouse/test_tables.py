"""Tables are created, widened, never dropped from, narrowed or retyped; a block's output must fit its table."""

from __future__ import annotations

import pyspark.sql.types as spark
import pytest

from dwh_assets.model.errors import SchemaDrift
from dwh_assets.warehouse.catalog import Catalog
from dwh_assets.warehouse.schemas import to_iceberg, to_spark
from dwh_assets.warehouse.tables import AUDIT, changes, check_output, create_or_widen, desired_schema

INT, LONG, FLOAT, DOUBLE, TEXT = spark.IntegerType(), spark.LongType(), spark.FloatType(), spark.DoubleType(), spark.StringType()
NARROW, WIDE = spark.DecimalType(10, 2), spark.DecimalType(12, 2)
NAME = "fact.things"


def columns(**types: spark.DataType) -> spark.StructType:
    return spark.StructType([spark.StructField(name, type_) for name, type_ in types.items()])


def make(catalog: Catalog, **types: spark.DataType) -> list[str]:
    return create_or_widen(catalog, NAME, columns(**types), None, {})


def test_a_new_table_has_audit_columns_a_day_partition_and_an_empty_first_snapshot(catalog: Catalog) -> None:
    done = create_or_widen(catalog, NAME, columns(pos=spark.TimestampType(), n=INT), "pos", {"comment": "things"})
    table = catalog.load(NAME)
    assert done == ["create table fact.things (pos timestamp, n int, _block bigint, _execution bigint, _loaded_at timestamp)"]
    assert [field.name for field in table.schema().fields] == ["pos", "n", *AUDIT]
    assert str(table.schema().find_type("_loaded_at")) == "timestamptz"
    assert [(str(field.transform), field.name) for field in table.spec().fields] == [("day", "pos_day")]
    assert table.format_version == 2
    assert table.properties["write.merge.mode"] == "copy-on-write"
    assert table.properties["comment"] == "things"
    assert table.current_snapshot() is not None
    assert table.scan().to_arrow().num_rows == 0


def test_every_spark_type_comes_back_as_it_was() -> None:
    nested = spark.ArrayType(columns(a=INT, m=spark.MapType(TEXT, spark.ArrayType(WIDE))))
    types = columns(
        b=spark.BooleanType(), i=INT, l=LONG, f=FLOAT, d=DOUBLE, s=TEXT, x=spark.BinaryType(), day=spark.DateType(),
        instant=spark.TimestampType(), wall=spark.TimestampNTZType(), id=spark.DecimalType(20, 0), nested=nested,
    )  # fmt: skip
    assert to_spark(to_iceberg(types)) == types


def test_a_type_that_no_table_can_store_is_refused() -> None:
    with pytest.raises(SchemaDrift, match=r"column gap has the type interval"):
        desired_schema(columns(gap=spark.DayTimeIntervalType()))


def test_columns_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(SchemaDrift, match="the column n more than once"):
        desired_schema(columns(n=INT, N=INT))


def test_a_table_is_widened_in_place(catalog: Catalog) -> None:
    make(catalog, n=INT, f=FLOAT, d=NARROW, s=columns(a=INT), m=spark.MapType(TEXT, INT))
    wanted = columns(n=LONG, f=DOUBLE, d=WIDE, s=columns(a=LONG, b=TEXT), m=spark.MapType(TEXT, LONG), new=TEXT)
    said = changes(catalog, NAME, desired_schema(wanted))
    assert create_or_widen(catalog, NAME, wanted, None, {}) == said
    assert said == [
        "widen column fact.things.n from int to bigint",
        "widen column fact.things.f from float to double",
        "widen column fact.things.d from decimal(10,2) to decimal(12,2)",
        "widen column fact.things.s.a from int to bigint",
        "add column fact.things.s.b string",
        "widen column fact.things.m.value from int to bigint",
        "add column fact.things.new string",
    ]
    assert changes(catalog, NAME, desired_schema(wanted)) == []
    assert check_output(catalog, NAME, wanted) == ["n", "f", "d", "s", "m", "new"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"n": INT, "t": TEXT}, {"n": INT}, r"column t: string in the table, absent in the output; a column is never dropped"),
        ({"n": LONG}, {"n": INT}, r"column n: bigint in the table, int in the output; a column is never narrowed"),
        ({"n": WIDE}, {"n": NARROW}, r"column n: decimal\(12,2\) in the table, decimal\(10,2\) in the output"),
        ({"n": INT}, {"n": TEXT}, r"column n: int in the table, string in the output; a column never changes its type"),
        ({"n": spark.TimestampType()}, {"n": spark.TimestampNTZType()}, r"timestamp in the table, timestamp_ntz in the output"),
        ({"n": columns(a=LONG)}, {"n": columns(a=INT)}, r"column n\.a: bigint in the table, int in the output"),
        ({"n": spark.ArrayType(INT)}, {"n": spark.ArrayType(TEXT)}, r"column n\.element: int in the table, string in the output"),
        (
            {"n": spark.MapType(INT, INT)},
            {"n": spark.MapType(LONG, INT)},
            r"map<int,int> in the table, map<bigint,int> in the output",
        ),
    ],
)
def test_what_would_lose_data_is_refused(
    catalog: Catalog, before: dict[str, spark.DataType], after: dict[str, spark.DataType], said: str
) -> None:
    make(catalog, **before)
    schema = catalog.load(NAME).schema()
    with pytest.raises(SchemaDrift, match=said):
        make(catalog, **after)
    assert catalog.load(NAME).schema() == schema


def test_an_output_is_put_in_the_tables_order_and_may_be_narrower(catalog: Catalog) -> None:
    make(catalog, id=spark.DecimalType(20, 0), n=LONG, f=DOUBLE, t=TEXT)
    output = columns(T=TEXT, f=FLOAT, _block=INT, n=INT, id=LONG)
    assert check_output(catalog, NAME, output) == ["id", "n", "f", "t"]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"n": LONG}, r"column t: string in the table, absent in the output; the output lacks it"),
        ({"n": LONG, "t": TEXT, "extra": INT}, r"column extra: absent in the table, int in the output; the table lacks it"),
        ({"n": DOUBLE, "t": TEXT}, r"column n: bigint in the table, double in the output; the types differ"),
    ],
)
def test_an_output_that_does_not_fit_is_refused(catalog: Catalog, output: dict[str, spark.DataType], said: str) -> None:
    make(catalog, n=LONG, t=TEXT)
    with pytest.raises(SchemaDrift, match=said):
        check_output(catalog, NAME, columns(**output))


def test_a_table_without_a_snapshot_gets_its_empty_first_one(catalog: Catalog) -> None:
    catalog.sql.create_namespace("fact")
    catalog.sql.create_table(NAME, desired_schema(columns(n=INT)))
    assert make(catalog, n=INT) == []
    assert catalog.load(NAME).current_snapshot() is not None
