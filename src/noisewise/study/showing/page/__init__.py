"""The parts of the report: its look, its elements, the options, the charts, what to do next."""
