"""What measurements of each kind say against "the mean of this option is m", and what follows from it."""
