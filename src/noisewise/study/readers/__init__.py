"""Result files of other tools, read as the fields of `tell`: one file per format, and a registry."""
