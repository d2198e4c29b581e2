"""A study that runs itself: it asks, lets measure, and tells, until it may stop."""
