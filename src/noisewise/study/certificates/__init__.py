"""Which option to take, how far it can be from the best, what that rests on, and whether the model fits."""
