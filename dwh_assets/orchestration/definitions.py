"""The code location: what Dagster loads. A reload of it reads the Lineage in force again."""

from dwh_assets.orchestration.graph import definitions
from dwh_assets.orchestration.project import load_project

defs = definitions(load_project())
