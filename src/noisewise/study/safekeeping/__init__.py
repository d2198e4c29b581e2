"""Whether stores and certificates are what they say, and backups put back in their place."""
