"""What everything rests on: checks of what people hand in, texts, files, random numbers, rows in blocks."""
