"""The study commands as tools of an assistant: a server of the Model Context Protocol."""
