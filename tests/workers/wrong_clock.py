"""`dwh` in a process whose wall clock is wrong by as many seconds as its first word says."""

from __future__ import annotations

import sys

from dwh_assets.cli.entry import main
from dwh_assets.workers import freshness, topics, worker  # noqa: F401 - loaded now, so that they see that clock
from tests.faults.worker import shift_clock

if __name__ == "__main__":
    shift_clock(float(sys.argv.pop(1)))
    main()
