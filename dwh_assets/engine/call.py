"""Runs one command of a module: `python -m dwh_assets.engine.call command WORD ...` or `... python package.module:function`.

It ends when the process that started it does, whatever ends that: nobody would know of it any more. A function may return the
rows it wrote, as a number or as a mapping such as {"inserted": 3}; a command may write such a mapping as JSON to $DWH_RESULT.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path

PR_SET_PDEATHSIG = 1


def main(kind: str, words: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == 1:
            sys.exit("the process that started this command is gone")
    beside = str(Path(sys.executable).parent)  # `dwh` itself, also where nobody has activated its environment
    os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    if kind == "command":
        os.execvp(words[0], words)  # noqa: S606 - the words of a file that `dwh lineage apply` has put in force
    sys.path.insert(0, str(Path.cwd()))
    path, _, name = words[0].partition(":")
    returned = getattr(import_module(path), name)()
    if returned is not None and (result := os.environ.get("DWH_RESULT")):
        counts = {"inserted": returned} if isinstance(returned, int) else dict(returned)
        Path(result).write_text(json.dumps(counts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
