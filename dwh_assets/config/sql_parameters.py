"""`{{ param.name }}` in SQL: the value takes its place as one typed literal, before the guard reads the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dwh_assets.config.lineage_fields import nearest
from dwh_assets.config.sql_parse import refused
from dwh_assets.config.sql_text import classify
from dwh_assets.model.module import Action, Check, Module
from dwh_assets.model.parameter import Parameter, literal

_PARAMETER = re.compile(r"\{\{[ \t]*param\.([A-Za-z_]\w*)[ \t]*\}\}", re.ASCII)
_GLUED = re.compile(r"[\w$.'\"`{}\\]")  # next to a literal, these would make another word of it


def with_values(text: str, parameters: Iterable[Parameter], name: str) -> str:
    """The text with a literal in place of each parameter; lines stay where they are. What is wrong is `SqlRefused`."""
    if _PARAMETER.search(text) is None:
        return text
    classes, stuck = classify(text)
    if stuck is not None:
        return text  # the guard says why, at its place
    known = {parameter.name: parameter for parameter in parameters}
    found = [match for match in _PARAMETER.finditer(text) if classes[match.start()] != "c"]
    problems = [(match.start(), reason) for match in found if (reason := _problem(text, classes, match, known))]
    if problems:
        raise refused(name, text, problems)
    parts, end = [], 0
    for match in found:
        parts += [text[end : match.start()], literal(known[match[1]])]
        end = match.end()
    return "".join([*parts, text[end:]])


def parameters_in(text: str) -> set[str]:
    """The names that a text mentions."""
    return {match[1] for match in _PARAMETER.finditer(text)}


def bound(module: Module, parameters: tuple[Parameter, ...]) -> Module:
    """A module with these values in the SQL that its file holds; its transforms read theirs from `parameters`."""

    def filled(text: str) -> str:
        return with_values(text, parameters, module.name)

    def check(given: Check) -> Check:
        return given if given.predicate is None else replace(given, predicate=filled(given.predicate))

    def actions(given: Iterable[Action]) -> tuple[Action, ...]:
        return tuple(replace(action, sql=filled(action.sql)) for action in given)

    return replace(
        module,
        parameters=parameters,
        before=actions(module.before),
        after=actions(module.after),
        checks=tuple(check(given) for given in module.checks),
        measures={name: filled(text) for name, text in module.measures.items()},
        expect={name: filled(text) for name, text in module.expect.items()},
        deleted=None if module.deleted is None else filled(module.deleted),
    )


def texts_of(module: Module) -> tuple[str, ...]:
    """All SQL that a module's file holds."""
    actions = (action.sql for action in (*module.before, *module.after))
    predicates = (check.predicate for check in module.checks if check.predicate)
    return (*actions, *predicates, *module.measures.values(), *module.expect.values(), module.deleted or "")


def _problem(text: str, classes: str, match: re.Match[str], known: Mapping[str, Parameter]) -> str | None:
    if classes[match.start()] != "v":
        return f"{match[0]} stands inside quotes; write it without them, its value brings its own"
    if match[1] not in known:
        hint = nearest(match[1], known)
        return (
            f"the parameter {match[1]} is not declared{hint}; declare it in lineage/parameters.yaml "
            "or under parameters in the module's file"
        )
    if any(_GLUED.match(letter) for letter in (text[: match.start()][-1:], text[match.end() :][:1])):
        return f"{match[0]} stands against another word; put a space between them"
    return None
