"""A transform in Python: the same rules as for SQL, block in and rows out; a parameter names a declared table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HIGH = {"business": 90.0}
_HIGH_FOR_OTHERS = 70.0


def payment_alerts(block: DataFrame, dim_customer: DataFrame) -> DataFrame:
    """Payments that were declined or are high for the customer's segment of today."""
    from pyspark.sql import functions as sf

    customers = dim_customer.where("is_current").select("customer_id", "segment")
    limit = sf.lit(_HIGH_FOR_OTHERS)
    for segment, amount in _HIGH.items():
        limit = sf.when(sf.col("segment") == segment, amount).otherwise(limit)
    alert = sf.when(sf.col("status") == "declined", "declined").when(sf.col("amount") > limit, "high amount")
    columns = ("paid_at", "payment_id", "order_id", "customer_id", "segment", "amount", "alert")
    return block.join(customers, "customer_id", "left").withColumn("alert", alert).where("alert is not null").select(*columns)
