"""Optimal designs: few actions whose largest squared width is the smallest there is."""
