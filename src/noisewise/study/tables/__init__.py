"""Understanding a table as a whole: options, results, error bars, counts, items and blocks."""
