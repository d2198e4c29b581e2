"""Tables of studies that compare several options: differences with errors in common, and arms."""
