"""What a module's transforms make of its next block, written nowhere: no lease, no branch, no row of the control store."""

from __future__ import annotations

from dataclasses import dataclass

from dwh_assets.config.sql_parameters import bound
from dwh_assets.control.blocks import block_of
from dwh_assets.control.lineage_apply import start_position
from dwh_assets.control.statements import sql
from dwh_assets.engine.engine import Engine
from dwh_assets.engine.naming import module_of
from dwh_assets.model.block import Block
from dwh_assets.model.errors import ActRefused
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.parameter import Parameter, resolve
from dwh_assets.model.position import Bounds, Position
from dwh_assets.model.sizing import Plan
from dwh_assets.processors.looking import Rows, first_rows, without_audit
from dwh_assets.processors.output import Reading, output_rows, transforms_of
from dwh_assets.processors.processor import Processor
from dwh_assets.processors.registry import processor_named

PREVIEW = 0  # the block and the execution of rows that are never written


@dataclass(frozen=True)
class Sight:
    """A block, and what would be written of it."""

    topic: str
    bounds: Bounds | None  # none: the base is read whole
    base_rows: int | None
    output: Rows
    notes: tuple[str, ...]


def look_ahead(engine: Engine, lineage: Lineage, name: str, rows: int, sample: int | None = None) -> Sight:
    """The next block of a topic as the files describe it, or only its first `sample` base rows."""
    module, topic = module_of(lineage, name)
    processor = processor_named(module.processor)
    block, notes = _next_block(engine, lineage, module, topic, processor, sample)
    valued, left_out = harmless(module, resolve(lineage.parameters, (), module.parameters))
    reading = read_now(engine, lineage, valued, topic)
    transforms = transforms_of(reading.session, valued, engine.settings.transforms_folder, reading.tables(), "dwh_preview")
    frame = without_audit(output_rows(transforms, reading, [block], processor, PREVIEW))
    shown = None if processor.whole else block.bounds
    others = [f"shard {topic.partition(':')[2]}; name another of {', '.join(module.topics)}"] if len(module.topics) > 1 else []
    return Sight(topic, shown, block.planned_rows, first_rows(frame, module.name, rows), (*notes, *left_out, *others))


def harmless(module: Module, parameters: tuple[Parameter, ...]) -> tuple[Module, list[str]]:
    """The module with its values, without the writes that it declares beside its transforms; and what was left out."""
    notes = [f"declared writes left out: {len(module.writes)}"] if module.writes else []
    return bound(module.without_writes(), parameters), notes


def read_now(engine: Engine, lineage: Lineage, module: Module, topic: str) -> Reading:
    """The inputs as they are now."""
    sources = {name: engine.source(name, lineage) for name in module.inputs}
    sources[module.base] = engine.source(module.base, lineage, module)
    snapshots = {name: source.snapshot() for name, source in sources.items()}
    return Reading(engine.session(), module, sources, snapshots, topic.partition(":")[2] or None)


def _next_block(
    engine: Engine, lineage: Lineage, module: Module, topic: str, processor: Processor, sample: int | None
) -> tuple[Block, list[str]]:
    """The first block that is not done, else what would be planned next, else the last one that was loaded."""
    state = next(iter(engine.topics.verdicts([topic])), None)
    stored = None if state is None else engine.database.fetch_one(sql("first_unfinished_block"), topic_id=state["topic_id"])
    if stored is not None and sample is None:
        return block_of(stored), [f"block #{stored['id']}, {stored['status']}"]
    if module.processor == "ingest":
        raise ActRefused(
            f"{topic} takes events in as they come, it has no transform, and no block of it is planned at the moment. "
            f"`dwh table {module.base}` shows the columns of its events, `dwh run` takes them in."
        )
    tail = _tail(engine, module, None if state is None else state["topic_id"])
    found = _cut(engine, lineage, module, topic, processor, tail, sample)
    if found is not None:
        return found, ["not planned yet"]
    last = None if state is None else engine.database.fetch_one(sql("last_loaded_block"), topic_id=state["topic_id"])
    if last is None:
        raise ActRefused(f"{module.base} holds no row behind {tail}, where {topic} begins; there is nothing to preview.")
    return block_of(last), [f"nothing new in {module.base}; this is the last block that was loaded, #{last['id']}"]


def _tail(engine: Engine, module: Module, topic_id: int | None) -> Position:
    state = None if topic_id is None else engine.database.fetch_one(sql("tail_of_loaded"), topic_id=topic_id)
    if state is None:
        return start_position(module.start, engine.database.clock())
    return Position(state["last_pos"], int(state["last_id"]))


def _cut(
    engine: Engine, lineage: Lineage, module: Module, topic: str, processor: Processor, tail: Position, sample: int | None
) -> Block | None:
    """What is there is taken, whether or not a watermark has passed it: nothing is written."""
    source = engine.source(module.base, lineage, module)
    newest = source.observe(engine.database.clock()).newest
    if newest is None:
        return None
    plan = Plan(min(sample or module.maxstep, module.maxstep), 1)
    cuts = processor.cut(source, tail, newest, plan, module, topic.partition(":")[2] or None)
    if not cuts:
        return None
    return Block(PREVIEW, PREVIEW, PREVIEW, Bounds(tail, cuts[0].next), "planned", newest, cuts[0].takes_all, cuts[0].rows)
