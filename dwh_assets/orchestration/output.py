"""What a run prints, kept in files that Dagster's UI shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dagster._core.execution.compute_logs import redirect_to_file
from dagster._core.storage.compute_log_manager import CapturedLogContext, ComputeIOType
from dagster._core.storage.local_compute_log_manager import IO_TYPE_EXTENSION, LocalComputeLogManager
from dagster._serdes import ConfigurableClassData
from dagster._utils import ensure_file, touch_file


class RunOutput(LocalComputeLogManager):
    """Dagster's own also starts two `tail` and two Python processes a run, to show its output on the terminal of the process
    that carries it out. Nobody looks at the terminal of a warm worker, and a short run waits for them."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> RunOutput:
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Iterator[CapturedLogContext]:
        out, err = (self._file(log_key, kind) for kind in (ComputeIOType.STDOUT, ComputeIOType.STDERR))
        with redirect_to_file(sys.stdout, out), redirect_to_file(sys.stderr, err):
            yield CapturedLogContext(log_key)
        touch_file(self.complete_artifact_path(log_key))

    def _file(self, log_key: Sequence[str], kind: ComputeIOType) -> str:
        path = self.get_captured_local_path(log_key, IO_TYPE_EXTENSION[kind])
        ensure_file(path)
        return path
