"""The rules of the paper's Table 1, and their kin for heavy tails."""
