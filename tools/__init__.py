"""Programs for those who release noisewise: `make lowest` and `make release-check`."""
