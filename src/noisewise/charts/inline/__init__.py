"""Charts inside a page: plain SVG that grows and shrinks with it; no script, no library."""
