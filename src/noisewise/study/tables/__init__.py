"""Understanding a table as a whole: which columns are options, results, error bars, counts, items or blocks."""
