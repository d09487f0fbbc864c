"""The same assets on stock Dagster: a process per run and per step, a queue, no warm worker."""

from dagster import multiprocess_executor

from dwh_assets.orchestration.graph import definitions
from dwh_assets.orchestration.project import load_project

defs = definitions(load_project(), executor=multiprocess_executor)
