"""VOFUL and VOFUL2: optimism over sets made of many small tests."""
