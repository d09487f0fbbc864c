"""Parameters in transforms, actions, checks and figures, as Spark reads them."""

from __future__ import annotations

import pytest

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.engine.attempt import attempt
from dwh_assets.model.block import Start
from dwh_assets.model.parameter import Parameter
from tests.config.test_parameters import HOSTILE
from tests.engine.project import Project, rows

PYTHON = "tests.engine.parametrised:above"


def code_versions(project: Project, topic: str) -> list[str]:
    found = project.engine.database.fetch(
        "select e.code_version from dwh.execution e join dwh.topic t on t.id = e.topic_id where t.name = %(topic)s order by e.id",
        topic=topic,
    )
    return [row["code_version"] for row in found]


def test_values_reach_every_kind_of_sql_and_a_changed_value_shows_in_the_code_version(own_project: Project) -> None:
    project = own_project
    project.source("src.p")
    project.append("src.p", rows(0, 6))
    project.write("lineage/parameters.yaml", "least: {type: integer, value: 4}\nname: {type: text, value: all}\n")
    project.module(
        "par.rows",
        "src.p",
        "select pos, id, k, v, {{ param.name }} as name, {{ param.since }} as since from high where v >= {{ param.least }}",
        before='["create temp view high as select * from {{ block }} where v < {{ param.most }}"]',
        parameters="{most: {type: number, value: 5.5}, since: {type: date, value: 2024-01-31}, name: {type: text, value: own}}",
        measures="{above: 'count_if(v > {{ param.least }})'}",
        checks="[{expect: {name: small, predicate: 'v < {{ param.most }}'}}]",
    )
    project.module("par.other", "src.p")
    project.module("par.python", "src.p", transforms=f'["{PYTHON}"]')
    project.apply()
    project.load()
    assert project.rows("par.rows", "v, name") == [(4, "own"), (5, "own")]
    assert project.rows("par.python", "v") == [(4,), (5,)]
    assert project.blocks("par.rows")[0]["measures"] == {"above": 1}
    project.write("lineage/parameters.yaml", "least: {type: integer, value: 7}\nname: {type: text, value: all}\n")
    changes = project.apply().modules
    assert [(c.kind, c.what, c.name, c.fields) for c in changes] == [("change", "parameter", "least", (("value", "4", "7"),))]
    project.append("src.p", rows(6, 9))
    project.load("par.other", "par.python")
    assert project.rows("par.python", "v") == [(4,), (5,), (7,), (8,)]
    first, second = code_versions(project, "par.python")
    assert first != second
    assert len(set(code_versions(project, "par.other"))) == 1
    lineage = project.tick()
    outcome = attempt(project.engine, lineage, "par.rows", start=Start(parameters=(Parameter("least", "integer", "6"),)))
    assert outcome.result == "committed"
    assert len(set(code_versions(project, "par.rows"))) == 2
    assert project.verify() == []


def test_a_hostile_value_arrives_in_the_table_as_it_is(own_project: Project) -> None:
    project = own_project
    project.source("src.h")
    project.append("src.h", rows(0, 1))
    values = ", ".join(f"p{n}: {{type: text, value: {yaml_of(value)}}}" for n, value in enumerate(HOSTILE))
    columns = ", ".join(f"{{{{ param.p{n} }}}} as c{n}" for n in range(len(HOSTILE)))
    project.module("hos.rows", "src.h", f"select pos, id, {columns} from {{{{ block }}}}", parameters=f"{{{values}}}")
    project.apply()
    project.load("hos.rows")
    assert project.rows("hos.rows", ", ".join(f"c{n}" for n in range(len(HOSTILE)))) == [tuple(HOSTILE)]


def yaml_of(value: str) -> str:
    """A double-quoted scalar: every letter by its code."""
    return '"' + "".join(f"\\U{ord(letter):08x}" for letter in value) + '"'


def test_a_python_transform_that_asks_for_an_unknown_parameter_is_told_the_near_names(own_project: Project) -> None:
    project = own_project
    project.source("src.u")
    project.write("lineage/parameters.yaml", "leest: {type: integer, value: 4}\n")
    project.module("unk.rows", "src.u", transforms=f'["{PYTHON}"]')
    load_lineage(project.folder / "lineage", project.folder / "sql" / "transforms")
    with pytest.raises(Exception, match=r"the parameter least is not declared \(did you mean leest\?\)"):
        project.apply()
