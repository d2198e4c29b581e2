"""What a rule is, and the shell around it: ask, tell, recommend, estimate, copy, save."""
