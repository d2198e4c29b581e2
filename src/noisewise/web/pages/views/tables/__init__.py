"""Tables that are pasted or handed in: what they would tell, what is wrong with them."""
