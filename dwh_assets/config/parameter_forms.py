"""Parameters as Lineage files declare them: for all in `lineage/parameters.yaml`, or under `parameters` of a module or batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationInfo, field_validator
from typing_extensions import Doc

from dwh_assets.config.form import Form
from dwh_assets.config.lineage_fields import Text, nearest
from dwh_assets.model.parameter import Parameter, ParameterType, canonical

_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


def _name(value: Any) -> str:
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise ValueError(f"{value!r} is not the name of a parameter; small letters, digits and _ such as tax_rate")
    return value


ParameterName = Annotated[
    str, PlainValidator(_name, json_schema_input_type=str), Doc("small letters, digits and `_` such as `tax_rate`")
]


class ParameterForm(Form):
    """`lineage/parameters.yaml`, name by name, and `parameters` of a module or a batch: a value that SQL and Python read."""

    type: ParameterType = Field(description="text, integer, number, boolean, date or timestamp")
    value: Any = Field(description="what {{ param.name }} stands for, as a literal of this type")
    description: Text = Field("", description="what it means for the business")

    @field_validator("value")
    @classmethod
    def fits(cls, value: Any, info: ValidationInfo) -> Any:
        return canonical(info.data["type"], value) if "type" in info.data else value


Parameters = dict[ParameterName, ParameterForm]


class ParametersForm(Form):
    """The whole of `lineage/parameters.yaml`: a name and its form each."""

    parameters: Parameters = Field({}, description="name -> typed value, for all modules")


def parameters_of(forms: Parameters) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, form.type, form.value, form.description) for name, form in sorted(forms.items()))


def override_problems(own: Iterable[Parameter], everywhere: Iterable[Parameter]) -> Iterator[tuple[str, str]]:
    """What is wrong with a batch's parameters: (name, reason). Its modules also run without it, so each needs a value for all,
    and one type: else the columns of a table would depend on who asked for the run."""
    known = {parameter.name: parameter for parameter in everywhere}
    for parameter in own:
        if parameter.name not in known:
            text = f"is not declared for all{nearest(parameter.name, known)}; declare it in lineage/parameters.yaml, too"
            yield parameter.name, f"{text}: its modules also run without this batch"
        elif parameter.type != known[parameter.name].type:
            yield parameter.name, f"is {parameter.type} here and {known[parameter.name].type} in lineage/parameters.yaml; use one"
