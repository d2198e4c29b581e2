"""A command that measures: placeholders, processes, what they print, and ``noisewise run`` itself."""
