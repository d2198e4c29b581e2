"""Looking ahead and back: how many more measurements, and what each one was worth."""

#: Futures of a plan: the second smallest and the second largest count of 19 are the ends of a band that holds
#: four of five studies.
FUTURES = 19
#: Looks at the bound in a ledger, at most.
MOST_LOOKS = 400
