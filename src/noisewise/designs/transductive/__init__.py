"""Designs for given directions: some linear combinations known as well as possible."""
