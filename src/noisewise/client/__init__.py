"""A study on a server, used like one in a file; the standard library is all that it needs."""
