"""A store in a database with SQLAlchemy Core: what SQLite and PostgreSQL share."""
