"""What the ledger knows of an ingest topic: how far its stream was taken in, and what each of its blocks is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from dwh_assets.control.ingest import IngestStore, Reached, StoredBlock
from dwh_assets.model.events import Contents, Replay, dead_letters_of
from dwh_assets.model.position import Bounds
from dwh_assets.sources.decoding import RECORD
from dwh_assets.warehouse.catalog import CATALOG

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.connect.session import SparkSession

__all__ = ["IngestLedger", "Reached", "StoredBlock"]


@dataclass(frozen=True)
class IngestLedger:
    store: IngestStore
    topic: str
    table: str

    def reached(self) -> Reached:
        return self.store.reached(self.topic)

    def begin(self, contents: Contents) -> None:
        self.store.begin(self.topic, contents)

    def blocks(self, bounds: Bounds) -> list[StoredBlock]:
        return self.store.blocks(self.topic, bounds)

    def files(self) -> dict[str, dict[str, Any]]:
        return self.store.files(self.topic)

    def dead_letters(self, session: SparkSession, replays: Sequence[Replay]) -> DataFrame:
        """The records that earlier blocks kept; a dead letter is never changed, so these are the same each time."""
        table = session.table(f"{CATALOG}.{dead_letters_of(self.table)}")
        chosen = F.lit(False)
        for replay in replays:
            chosen = chosen | ((F.col("_block") == replay.block) & (F.col("reason") == replay.reason))
        return table.where(chosen).select("id", *RECORD)
