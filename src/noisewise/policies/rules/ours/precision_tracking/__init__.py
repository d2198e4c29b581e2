"""Precision tracking, and the looks at which its phases may speak."""
