"""The deep look: does every block still hold the very values that it held when they were noted?

The hash is not taken at the commit: that would read every block a second time, by a Spark job of its own, where its manifests
give rows and nulls for nothing. One job over the whole table costs one scan, whenever a person or a schedule wants it. So a value
that changes before the first deep look is not found by it; flipped bits in pages are found at any read, by their checksums.
"""

from __future__ import annotations

from collections.abc import Iterator

from dwh_assets.control.contents import ContentStore
from dwh_assets.engine.damage import naming_blocks
from dwh_assets.engine.engine import Engine
from dwh_assets.model.module import Lineage
from dwh_assets.processors.content import content_by_block
from dwh_assets.warehouse.publish import snapshot_of

STEADY = ("step", "one_day_step", "range", "reload")  # the others change rows of earlier blocks by design


def has_steady_rows(lineage: Lineage, table: str) -> bool:
    return all(module.processor in STEADY for module in lineage.builders(table))


def changed_blocks(engine: Engine, table: str) -> Iterator[tuple[str, int, str]]:
    """(topic, block, text) of each block whose values have changed; what is new is noted."""
    store = ContentStore(engine.database)
    known = store.of_table(table)
    snapshot = snapshot_of(engine.catalog, table)
    with naming_blocks(engine, {table: snapshot}):
        found = content_by_block(engine.session(), table, snapshot)
    for content in known:
        if content.hash is not None and content.block_id in found and found[content.block_id] != content.hash:
            repair = f"`dwh repair {content.block_id} --reason ...` loads them again"
            yield content.topic, content.block_id, f"values in its rows in {table} have changed since they were noted; {repair}"
    store.note((content, found[content.block_id]) for content in known if content.hash is None and content.block_id in found)
