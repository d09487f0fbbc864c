"""The control store in Postgres: its server, its migrations, and one small store per family of tables."""
