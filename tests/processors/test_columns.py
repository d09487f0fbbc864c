"""Columns are followed through every kind of query, by the text of Spark's analysed plan."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import StructType

from dwh_assets.processors.columns import lineage_of_frame, marked_input
from dwh_assets.warehouse.session import query

SALES = "pos timestamp, id bigint, customer_id bigint, amount decimal(9), tags array<string>, m map<string,int>, st struct<x:int>"
CUSTOMERS = "customer_id bigint, segment string, `odd name, [x]` string"
# What each query gives: column -> its origins, s. for stage.sales and c. for dim.customer, = passed on, + summed up.
QUERIES = {
    "select a.pos, upper(b.segment) as seg, a.amount * 2 as twice, b.`odd name, [x]` as odd from a join b using (customer_id)": {
        "pos": "=s.pos", "seg": "c.segment", "twice": "s.amount", "odd": "=c.odd name, [x]",
    },
    "select id, amount as v from a union all select customer_id, 1 from b": {"id": "=c.customer_id =s.id", "v": "s.amount"},
    "select customer_id, sum(amount) as total, count(*) as n, max(pos) as pos from a group by 1 having sum(amount) > 3": {
        "customer_id": "=s.customer_id", "total": "+s.amount", "n": "", "pos": "+s.pos",
    },
    "select id, row_number() over (partition by customer_id order by pos) as rn, sum(amount) over () as s from a": {
        "id": "=s.id", "rn": "s.customer_id s.pos", "s": "s.amount",
    },
    """select id, (select max(segment) from b where b.customer_id = a.customer_id) as seg
       from a where id in (select customer_id from b)""": {
        "id": "=s.id", "seg": "+c.segment",
    },
    """with c as (select customer_id, sum(amount) as t from a group by 1), d as (select * from c)
       select d.t, c.t + 1 as u, b.segment from c join d using (customer_id) join b using (customer_id)""": {
        "t": "+s.amount", "u": "+s.amount", "segment": "=c.segment",
    },
    "select id, tag, k, v, st.x as sx from a lateral view explode(tags) e as tag lateral view outer explode(m) f as k, v": {
        "id": "=s.id", "tag": "s.tags", "k": "s.m", "v": "s.m", "sx": "s.st",
    },
    "select a.id, t.z from a, lateral (select segment as z from b where b.customer_id = a.customer_id) t": {
        "id": "=s.id", "z": "=c.segment",
    },
    "select distinct customer_id as c from a intersect select customer_id from b": {"c": "=c.customer_id =s.customer_id"},
    "select customer_id, id, sum(amount) as s from a group by rollup(customer_id, id)": {
        "customer_id": "=s.customer_id", "id": "=s.id", "s": "+s.amount",
    },
    "select * from (select id, customer_id, amount from a) pivot (sum(amount) for customer_id in (1 as one))": {
        "id": "=s.id", "one": "+s.amount +s.customer_id",
    },
    "select v from (select pos, id, customer_id from a) unpivot (v for n in (id, customer_id))": {"v": "=s.customer_id =s.id"},
    "select case when amount > 1 then customer_id else id end as c, 'x, (y AS z#9' as lit, pos from a": {
        "c": "s.amount s.customer_id s.id", "lit": "", "pos": "=s.pos",
    },
    "select x.id, y.amount from a x join a y on x.id = y.customer_id": {"id": "=s.id", "amount": "=s.amount"},
    "select id + 1 as i, i * 2 as j from a order by pos limit 3": {"i": "s.id", "j": "s.id"},
    "select id from a left semi join b using (customer_id)": {"id": "=s.id"},
}  # fmt: skip


def schema(text: str) -> StructType:
    found = StructType.fromDDL(text)
    assert isinstance(found, StructType)
    return found


def frames(session: SparkSession) -> dict[str, DataFrame]:
    return {
        "a": marked_input(session, "stage.sales", schema(SALES)),
        "b": marked_input(session, "dim.customer", schema(CUSTOMERS)),
    }


def short(session: SparkSession, rows: DataFrame) -> dict[str, str]:
    marks = {"identity": "=", "transformation": "", "aggregation": "+"}
    tables = {"stage.sales": "s", "dim.customer": "c"}
    found = lineage_of_frame(session, rows)
    return {
        name: " ".join(f"{marks[o.kind]}{tables[o.table]}.{o.column}" for o in origins) for name, origins in found.columns.items()
    }


def test_columns_are_followed_through_queries_and_functions(session: SparkSession):
    tables = frames(session)
    found = {text: short(session, query(session, text, tables)) for text in QUERIES}
    assert found == QUERIES

    sales, customers = tables["a"], tables["b"]
    united = sales.select("id", F.col("amount").alias("v")).unionByName(customers.selectExpr("customer_id as id", "1 as v"))
    assert short(session, united) == {"id": "=c.customer_id =s.id", "v": "s.amount"}
    kept = sales.dropDuplicates(["id"]).withColumn("z", F.expr("amount * 2")).select("z", "pos")
    assert short(session, kept) == {"z": "s.amount", "pos": "=s.pos"}
    opaque = sales.select("id", "amount").mapInPandas(lambda parts: parts, "p bigint, q double")
    assert short(session, opaque) == {"p": "s.amount s.id", "q": "s.amount s.id"}

    decided = lineage_of_frame(session, query(session, "select id from a join b using (customer_id) where amount > 3", tables))
    assert set(decided.decides) == {
        ("stage.sales", "customer_id"), ("dim.customer", "customer_id"), ("stage.sales", "amount"),
    }  # fmt: skip
