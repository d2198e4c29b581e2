"""A store in a database, in plain SQL: what SQLite and PostgreSQL share."""
