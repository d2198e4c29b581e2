"""The linear model and its verbs, radii and choices: arrays only, no rule and no user in sight."""
