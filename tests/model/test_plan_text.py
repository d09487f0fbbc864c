"""The text of an analysed plan is read as a tree, and its lists as columns, whatever literals hold."""

from __future__ import annotations

from dwh_assets.model.column_lineage import Origin, lineage_of
from dwh_assets.model.plan_text import analysed_part, ids_in, items_of, lists_in, parts_of, tree_of

PLAN = """Project [k#9, scalar-subquery#3 [] AS most#4L]
:  +- Aggregate [max(v#6) AS m#7]
:     +- Project [x#5 AS dwh_in|b|v#6]
+- Join Inner, (k#9 = k#10)
   :- Project [x#8 AS dwh_in|a|k#9]
   :  +- LocalRelation <empty>, [x#8]
   +- Filter (k#10 > 3
and a line)
      +- Project [x#11 AS dwh_in|c|k#10]
         +- LocalRelation <empty>, [x#11]"""


def test_children_and_subqueries_are_told_apart_by_their_depth():
    root = tree_of(PLAN)
    assert root is not None
    assert [child.name for child in root.children] == ["Join"]
    assert [inner.name for inner in root.subqueries] == ["Aggregate"]
    left, right = root.children[0].children
    assert (left.name, right.name, right.text.endswith("and a line)")) == ("Project", "Filter", True)


def test_columns_are_followed_to_the_marks_of_their_tables():
    root = tree_of(PLAN)
    assert root is not None
    found = lineage_of(root)
    assert found.columns == {"k": (Origin("a", "k"),), "most": (Origin("b", "v", "aggregation"),)}
    assert found.decides == (("a", "k"), ("c", "k"))


def test_only_the_analysed_part_of_an_explanation_is_read():
    text = "== Parsed Logical Plan ==\nx\n\n== Analyzed Logical Plan ==\na: int\nProject [a#1]\n\n== Optimized Logical Plan ==\ny"
    assert analysed_part(text).strip() == "Project [a#1]"
    assert analysed_part("something else") == ""


def test_lists_are_split_outside_of_brackets_only():
    assert parts_of("f(a#1, b#2) AS c#3, d#4L") == ["f(a#1, b#2) AS c#3", "d#4L"]
    assert lists_in("Window [a, [b]], [c]") == ["a, [b]", "c"]
    assert ids_in("f(a#12L, b#3)") == [12, 3]


def test_a_literal_that_looks_like_a_list_is_part_of_its_column():
    first, second = items_of("concat(a#1, x, y) AS b#2, x, y AS c#3")
    assert (first.name, first.id, second.name, second.given) == ("b", 2, "c", "x, y")
    broken = items_of(lists_in("Project [c#7, f(d#8, e#9) AS f#3, x, (y AS z#9 AS a#1, b#2]")[0])
    assert [(item.name, item.id) for item in broken] == [("c", 7), ("f", 3), ("a", 1), ("b", 2)]
