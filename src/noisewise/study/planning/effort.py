"""How much work looking ahead and looking back may be, unless it is said otherwise."""

#: Futures that a plan simulates at most.
MOST_PATHS = 60
#: Looks at the bound in a ledger, at most.
MOST_LOOKS = 400
