"""Where studies are kept: a specification and an append-only log per study, behind seven methods."""
