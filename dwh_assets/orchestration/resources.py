"""What assets and sensors are given: the control store with its offsets, and the warehouse's Spark session."""

from typing import Any

from dagster import ConfigurableResource
from dagster_pyspark import LazyPySparkResource
from pydantic import Field

from dwh_assets.engine.engine import Engine
from dwh_assets.orchestration import project


class Offsets(ConfigurableResource):
    """The warehouse with its cursors, blocks and attempts, opened when it is first asked for."""

    @property
    def engine(self) -> Engine:
        return project.engine()


class WarehouseSpark(LazyPySparkResource):
    """This thread's session on the warehouse's catalog: the one that blocks are loaded with. Own assets can use it, too."""

    spark_config: dict[str, Any] = Field(default_factory=dict)

    def _init_session(self) -> None:
        self._spark_session = project.engine().session()
