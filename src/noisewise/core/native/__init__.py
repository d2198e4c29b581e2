"""The verbs of the model and of choice in C, and how the rest of the package reaches them."""
