"""The documentation site: the pages of docs, pictures and references made from the code, one index."""
