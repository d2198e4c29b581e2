"""Looking ahead and back: how many more measurements, what a slot is worth, what each one was worth."""
