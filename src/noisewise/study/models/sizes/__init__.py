"""How large deviations and extra scatter are: estimates by restricted likelihood, and limits of them."""
