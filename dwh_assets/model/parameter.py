"""Parameters: typed values that transforms read by name. The narrowest declaration counts: module, then batch, then all."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

ParameterType = Literal["text", "integer", "number", "boolean", "date", "timestamp"]
Value = str | int | float | bool | date | datetime
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_BIGINT = range(-(2**63), 2**63)
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,:/@+-=()%")


@dataclass(frozen=True)
class Parameter:
    name: str
    type: ParameterType
    value: str  # in the one form that `canonical` gives
    description: str = ""


def resolve(
    everywhere: Iterable[Parameter], of_batch: Iterable[Parameter], of_module: Iterable[Parameter]
) -> tuple[Parameter, ...]:
    """The parameters that hold for one run of a module, by name."""
    narrowest = {parameter.name: parameter for scope in (everywhere, of_batch, of_module) for parameter in scope}
    return tuple(narrowest[name] for name in sorted(narrowest))


def canonical(type_: ParameterType, given: Any) -> str:
    """A value as it is kept; ValueError says what it must be."""
    write, wanted = _WRITERS[type_]
    try:
        return write(given)
    except (TypeError, ValueError):
        raise ValueError(wanted) from None


def value_of(parameter: Parameter) -> Value:
    """The value as Python has it. It is read anew: what was stored may have been changed there by hand."""
    text = parameter.value
    readers = {
        "text": str,
        "integer": int,
        "number": float,
        "boolean": lambda given: {"true": True, "false": False}[given],
        "date": date.fromisoformat,
        "timestamp": datetime.fromisoformat,
    }
    try:
        return readers[parameter.type](text)
    except (KeyError, ValueError):
        raise ValueError(f"the parameter {parameter.name} is not a {parameter.type}") from None


def literal(parameter: Parameter) -> str:
    """The value as one literal of Spark SQL, whatever it holds."""
    value = value_of(parameter)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{''.join(_escaped(letter) for letter in value)}'"
    if isinstance(value, datetime):
        return f"timestamp '{value.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}Z'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    shown = f"{value!r}D" if isinstance(value, float) else str(value)
    return f"({shown})" if shown.startswith("-") else shown  # behind a minus it would begin a comment


def _escaped(letter: str) -> str:
    """Everything but plain letters by its code: no quote, backslash, dollar or end of line is left to be read otherwise."""
    if letter in _PLAIN:
        return letter
    code = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def _text(given: Any) -> str:
    if "\0" in _of(str, given):
        raise ValueError  # Postgres keeps no such text
    return given


def _whole(given: Any) -> str:
    if _of(int, given) not in _BIGINT:
        raise ValueError
    return str(given)


def _number(given: Any) -> str:
    if not math.isfinite(_of((int, float), given)):
        raise ValueError
    return repr(float(given))


def _boolean(given: Any) -> str:
    if not isinstance(given, bool):
        raise TypeError
    return str(given).lower()


def _day(given: Any) -> str:
    if _DATE.fullmatch(_of(str, given)) is None:
        raise ValueError
    return date.fromisoformat(given).isoformat()


def _instant(given: Any) -> str:
    instant = datetime.fromisoformat(_of(str, given))
    if instant.tzinfo is None:
        raise ValueError
    return instant.astimezone(UTC).isoformat()


def _of(kind: Any, given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, kind):
        raise TypeError
    return given


_WRITERS: dict[ParameterType, tuple[Callable[[Any], str], str]] = {
    "text": (_text, "must be text, in quotes, without the letter U+0000"),
    "integer": (_whole, "must be a whole number of at most 64 bits, such as 1_000"),
    "number": (_number, "must be a number such as 0.19"),
    "boolean": (_boolean, "must be true or false"),
    "date": (_day, "must be a day such as 2024-01-31"),
    "timestamp": (_instant, "must be an instant with its zone such as 2024-01-31T08:00:00Z"),
}
