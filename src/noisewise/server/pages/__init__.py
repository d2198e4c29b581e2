"""Pages for browsers, rendered by the server."""
