"""Arguments and options that several commands share, with their one wording."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON: stable keys, instants in ISO form, spans in seconds.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, the newest.")]
Reason = Annotated[str, typer.Option("--reason", "-r", help="Why; kept in the event log. Required.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Topic = Annotated[str, typer.Argument(help=r"db.table\[#tag][:shard]", show_default=False)]
