"""`python -m bench [NAME ...] [--rows N] [--json FILE] [--keep]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.main import MEASUREMENTS, OF, main
from bench.scale import Scale

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the product on this machine.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*MEASUREMENTS, *OF])}; all without it")
    parser.add_argument("--rows", type=int, default=Scale.rows, help="rows of the backlog (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--keep", action="store_true", help="keep the home of the measurement (DWH_BENCH_HOME)")
    given = parser.parse_args()
    sys.exit(main(given.names, given.rows, given.json, given.keep))
