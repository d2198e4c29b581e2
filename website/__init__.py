"""The website: what it takes to make the documentation's pages and pictures from their sources."""
