"""`python -m dwh_assets.cli` is the command `dwh`."""

from dwh_assets.cli.entry import main

main()
