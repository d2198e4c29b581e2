"""A team's studies over HTTP: a JSON interface, pages for browsers, and who may do what."""
