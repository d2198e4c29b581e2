"""The models of the options' values, one per file: a module here has a class and says which, as `MODEL`."""
