"""The dialects of tables: encodings, separators, lines above the header, decimal commas, workbooks."""
