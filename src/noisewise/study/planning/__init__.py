"""Looking ahead and back: how many more measurements, and what each one was worth."""
