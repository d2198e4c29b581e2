"""Rules to compare with: at random, in turn, the widest, the best so far, optimism, Thompson sampling."""
