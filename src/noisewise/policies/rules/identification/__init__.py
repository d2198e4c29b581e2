"""Rules from the literature that look for the best action: RAGE, LinGame, LinGapE, Peace and others."""
