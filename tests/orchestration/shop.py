"""A small warehouse to look at in the browser: each test has its table."""

from __future__ import annotations

from tests.engine.project import ALL, Project, rows

DAY_SECONDS = 86_400
GATED = "[tests.orchestration.gates:gated]"
FIVES = {"maxstep": "5", "stretch": "1"}


def build(project: Project) -> None:
    """Tables of the area `hand` are for people, its sensor will be off; those of `auto` are loaded by their sensor."""
    for name in ("clicked", "days", "order", "twice", "busy", "reload", "alone", "base", "slow", "bad", "later", "killed"):
        project.source(f"src.{name}")
    for name in ("clicked", "days", "order", "twice", "alone"):
        project.module(f"hand.{name}", f"src.{name}", **FIVES)
    for name in ("busy", "reload"):
        project.module(f"hand.{name}", f"src.{name}", **FIVES, transforms=GATED)
    project.module("auto.waits", "src.base", depends_on="[src.base, src.slow]")
    project.module("auto.bad", "src.bad", checks="[{expect: {predicate: v < 3, name: small}}]")
    project.module("auto.later", "src.later")
    project.module("auto.killed", "src.killed", transforms=GATED)
    _build_graph(project)
    _fill(project)
    project.apply()
    _load(project)


def _build_graph(project: Project) -> None:
    """Two tags into one table, shards, and a table that is built from both and looks into a source beside them."""
    for name in ("web", "shop", "parts", "rates"):
        project.source(f"src.{name}")
    project.module("wide.events#web", "src.web")
    project.module("wide.events#shop", "src.shop")
    project.module("wide.parts", "src.parts", shards="[k1, k2]", shard_by="k")
    beside = "left join wide.parts p on p.id = b.id left join src.rates r on r.id = b.id"
    joined = f"select b.pos, b.id, b.k, b.v from {{{{ block }}}} b {beside}"
    project.module("wide.sums", "wide.events", joined, depends_on="[wide.events, wide.parts, src.rates]")
    project.module("wide.last", "wide.sums", ALL)


def _fill(project: Project) -> None:
    for name in ("order", "bad"):
        project.append(f"src.{name}", rows(0, 5))
    project.append("src.base", rows(0, 20))
    project.append("src.slow", rows(0, 3))
    project.append("src.days", [*rows(0, 10), *rows(DAY_SECONDS, DAY_SECONDS + 10)])


def _load(project: Project) -> None:
    """What people find loaded: two days, and the first block of a table that will get more rows."""
    project.load("hand.days", "hand.order")


def fill_for_people(project: Project) -> None:
    """Rows that arrive once no sensor looks at them any more."""
    for name in ("clicked", "twice", "busy", "reload", "alone"):
        project.append(f"src.{name}", rows(0, 5))
    project.append("src.order", rows(5, 20))
