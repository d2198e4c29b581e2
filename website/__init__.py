"""The documentation site: the pages of docs, references made from the code, and one index for all of it."""
