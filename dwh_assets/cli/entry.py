"""Where the command `dwh` begins: Ctrl-C while its modules are still being loaded is no traceback either."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from dwh_assets.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.stderr.write("dwh: interrupted. Nothing was changed.\n")
        sys.exit(130)
