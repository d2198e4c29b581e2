"""Studies in one SQLite file: its locks, its identity, and the files that SQLite leaves beside it."""
