"""The `dwh` command."""
