"""What people hand in: numbers, error bars, tables, catalogues of options."""
