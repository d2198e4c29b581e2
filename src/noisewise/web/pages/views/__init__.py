"""What each page shows: plain functions of a study, without a server."""
