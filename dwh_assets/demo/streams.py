"""The shop's outside tables: what columns they have, where they live and how often they deliver."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Kind = Literal["instant", "bigint", "integer", "text", "money"]
LATENESS = timedelta(seconds=1)  # a row arrives at most this long after its pos, its delivery's rhythm aside


@dataclass(frozen=True)
class Stream:
    """One outside table. The first two columns are its position."""

    name: str
    place: Literal["iceberg", "postgres"]
    columns: tuple[tuple[str, Kind], ...]
    every: timedelta = timedelta()  # rows arrive together, once in this time; zero means as they happen
    dimension: bool = False  # its rows are needed even if they happened while the feed was down

    @property
    def position(self) -> tuple[str, str]:
        return self.columns[0][0], self.columns[1][0]


def _columns(**kinds: Kind) -> tuple[tuple[str, Kind], ...]:
    return tuple(kinds.items())


STREAMS = (
    Stream(
        "crm.customer_changes",
        "postgres",
        _columns(pos="instant", id="bigint", customer_id="bigint", name="text", segment="text", city="text", change="text"),
        dimension=True,
    ),
    Stream(
        "crm.payments",
        "postgres",
        _columns(
            paid_at="instant",
            payment_id="bigint",
            order_id="bigint",
            customer_id="bigint",
            amount="money",
            method="text",
            status="text",
        ),
    ),
    Stream(
        "stage.products",
        "iceberg",
        _columns(pos="instant", id="bigint", product_id="bigint", name="text", category="text", list_price="money"),
        every=timedelta(seconds=10),
        dimension=True,
    ),
    Stream(
        "stage.web_orders",
        "iceberg",
        _columns(
            pos="instant",
            id="bigint",
            order_id="bigint",
            customer_id="bigint",
            product_id="bigint",
            quantity="integer",
            unit_price="money",
            voucher="text",
        ),
        every=timedelta(seconds=10),
    ),
    Stream(
        "stage.till_receipts",
        "iceberg",
        _columns(
            pos="instant",
            id="bigint",
            receipt_no="text",
            shop="text",
            customer_id="bigint",
            product_id="bigint",
            quantity="integer",
            paid="money",
        ),
        every=timedelta(seconds=10),
    ),
    Stream(
        "stage.inventory_moves",
        "iceberg",
        _columns(
            pos="instant",
            id="bigint",
            region="text",
            product_id="bigint",
            quantity="integer",
            stock_after="integer",
            reason="text",
        ),
        every=timedelta(seconds=15),
    ),
    Stream(
        "stage.refunds",
        "iceberg",
        _columns(pos="instant", id="bigint", refund_no="text", order_id="bigint", amount="money", reason="text"),
        every=timedelta(seconds=20),
    ),
    Stream(
        "stage.clicks",
        "iceberg",
        _columns(pos="instant", id="bigint", session="text", customer_id="bigint", page="text", campaign="text"),
        every=timedelta(seconds=60),
    ),
)


def stream(name: str) -> Stream:
    return next(s for s in STREAMS if s.name == name)
