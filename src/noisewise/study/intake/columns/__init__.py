"""Which column of a table is what, by its name or as a person says; and how the whole is understood."""
