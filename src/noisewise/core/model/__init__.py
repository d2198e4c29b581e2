"""The linear model: what is known about every action's value, and the verbs that change or read it."""
