"""What to measure next: a policy's rule on what the study knows."""
