"""From what people measured to events: error bars, rows, items, and the scale of values."""
