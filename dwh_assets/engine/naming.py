"""Names that people give, looked up in a Lineage that may not be in force yet."""

from __future__ import annotations

from dwh_assets.model.errors import UnknownTopic
from dwh_assets.model.module import Lineage, Module
from dwh_assets.model.near import did_you_mean


def module_of(lineage: Lineage, name: str) -> tuple[Module, str]:
    """The module and the one topic that a topic, a module or a table stands for; of several shards the first."""
    found = [m for m in lineage.modules if name in (m.name, m.table, *m.topics)]
    exact = [m for m in found if name in (m.name, *m.topics)] or found
    if not exact:
        raise _unknown(lineage, name)
    if len(exact) > 1:
        raise UnknownTopic(f"{name} is built by several modules; name one of {', '.join(m.name for m in exact)}.")
    module = exact[0]
    return module, name if name in module.topics else module.topics[0]


def _unknown(lineage: Lineage, name: str) -> UnknownTopic:
    if any(source.name == name for source in lineage.sources):
        return UnknownTopic(f"{name} is a source: its rows are written elsewhere, no transform makes them. `dwh table {name}`.")
    known = sorted({n for m in lineage.modules for n in (m.name, m.table)})
    return UnknownTopic(
        f"no file in lineage/ builds {name!r}.{did_you_mean(name, known)} `dwh new table {name} --from ...` drafts one."
    )
