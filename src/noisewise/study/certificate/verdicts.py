"""Verdicts: how much a certificate says, in a word for programs and in a few for people."""

#: Verdicts, from the least that may be said to the most.
NOTHING = "nothing"  # no option was measured, or every option is excluded
WITHHELD = "withheld"  # something contradicts the assumptions: no bound holds
UNBOUNDED = "unbounded"  # an option leads, but some options cannot be compared with it yet
UNDECIDED = "undecided"  # there is a bound, and it exceeds every estimated difference
BOUNDED = "bounded"
REACHED = "reached"  # the bound is at most eps
#: The same for people, in two or three words.
IN_WORDS = {
    NOTHING: "Nothing to say yet",
    WITHHELD: "No certificate at this moment",
    UNBOUNDED: "No bound yet",
    UNDECIDED: "Too early to tell",
    BOUNDED: "Not close enough yet",
    REACHED: "Close enough",
}
