"""The shape of a query: whether it treats each base row alone, so that many blocks can be run as one."""

from __future__ import annotations

from sqlglot import exp

from dwh_assets.config.sql_parse import parse_statement

_TOGETHER = (
    exp.AggFunc,
    exp.Group,
    exp.Distinct,
    exp.Window,
    exp.Limit,
    exp.Offset,
    exp.Order,
    exp.SetOperation,
    exp.Subquery,
    exp.With,
)


def is_row_wise(text: str, position: tuple[str, str], one_to_one: bool = False) -> bool:
    """One plain SELECT from the block, joins allowed, that gives each row's position as it is.

    `one_to_one`: also no join, no filter and no generator, so that each base row gives exactly one row. Unsure means no.
    """
    statement = parse_statement(text, "transform")
    tree = statement.tree
    if not isinstance(tree, exp.Select) or len(statement.blocks) != 1 or any(tree.find(kind) for kind in _TOGETHER):
        return False
    if one_to_one and (tree.args.get("joins") or tree.args.get("where") or tree.find(exp.Lateral, exp.UDTF)):
        return False
    return _from_block(tree, statement.blocks) and all(_keeps(tree, column) for column in position)


def _from_block(tree: exp.Select, blocks: frozenset[int]) -> bool:
    source = tree.args.get("from_") or tree.args.get("from")
    return source is not None and isinstance(source.this, exp.Table) and source.this.name.startswith("_dwh_blk")


def _keeps(tree: exp.Select, column: str) -> bool:
    """The column is given as it is: by a star, or by its plain name."""
    for projection in tree.expressions:
        if projection.is_star:
            return True
        if projection.alias_or_name == column:
            inner = projection.unalias()
            return isinstance(inner, exp.Column) and inner.name == column
    return False
