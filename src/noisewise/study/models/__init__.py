"""What the measurements say: error bars, fits, boundaries, for every model of the options' values."""
