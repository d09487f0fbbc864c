"""What a run prints is kept, without processes beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, sys
import psutil
from dagster._core.storage.compute_log_manager import ComputeIOType
from dwh_assets.orchestration.output import RunOutput

output = RunOutput.from_config_value(None, {"base_dir": sys.argv[1]})
print("before")
with output.capture_logs(["run", "step"]):
    print("a transform prints")
    os.system("echo and so does a child; echo it warns >&2")
    assert not output.is_capture_complete(["run", "step"])
    assert not psutil.Process().children(), psutil.Process().children()
print("after")
assert output.is_capture_complete(["run", "step"])
for kind in (ComputeIOType.STDOUT, ComputeIOType.STDERR):
    data, _ = output.get_log_data_for_type(["run", "step"], kind, offset=0, max_bytes=None)
    print(kind.value, data.decode().splitlines())
"""


def test_what_a_run_and_its_children_print_is_kept_for_the_ui_and_nothing_runs_beside_it(tmp_path: Path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout.splitlines() == [
        "before",
        "after",
        "stdout ['a transform prints', 'and so does a child']",
        "stderr ['it warns']",
    ], ended.stderr
