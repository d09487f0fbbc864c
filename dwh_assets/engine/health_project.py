"""Is this folder a project, and do its files fit together?"""

from __future__ import annotations

from collections.abc import Iterator

from dwh_assets.config.lineage_files import load_lineage
from dwh_assets.config.origins import strange_variables
from dwh_assets.config.settings import Settings
from dwh_assets.config.settings_file import NAME
from dwh_assets.engine.health import Check, Finding, check_disk, check_java, check_memory, check_packages, check_ports
from dwh_assets.engine.health_servers import check_postgres, check_sources, check_spark
from dwh_assets.model.errors import LineageError


def check_project(settings: Settings) -> Iterator[Finding]:
    folder = settings.project
    if not settings.lineage_folder.is_dir():
        todo = "go to your project's folder or set DWH_PROJECT; `dwh init DIR` makes a project"
        yield Finding("project", "bad", f"{folder} has no lineage/", todo)
        return
    settings_file = f", settings in {NAME}" if (folder / NAME).exists() else ""
    yield Finding("project", "ok", f"{folder}{settings_file}")
    for text in strange_variables():
        yield Finding("settings", "warn", text, "correct its name, or unset it")
    try:
        lineage = load_lineage(settings.lineage_folder, settings.transforms_folder)
    except LineageError as error:
        more = f"; {len(error.problems) - 1} more" if len(error.problems) > 1 else ""
        yield Finding("Lineage", "bad", error.problems[0] + more, "correct the files; `dwh lineage check` lists all problems")
        return
    yield Finding("Lineage", "ok", f"{len(lineage.modules)} modules, {len(lineage.sources)} sources")
    yield from check_sources(settings, lineage)


CHECKS: list[tuple[str, Check]] = [
    ("packages", check_packages),
    ("Java", check_java),
    ("memory", check_memory),
    ("disk", check_disk),
    ("ports", check_ports),
    ("Postgres", check_postgres),
    ("Spark", check_spark),
    ("project", check_project),
]
