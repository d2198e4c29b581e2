"""Catalogues: lists of actions too long to be looked at in every round, asked in passes."""
