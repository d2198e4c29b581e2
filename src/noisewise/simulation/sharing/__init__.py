"""Work shared among processes and threads; who does what changes nothing in the results."""
