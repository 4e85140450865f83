"""What judgments of debates say, and how sure it is. Pure functions on arrays, from numpy and the standard library.

results.py puts the figures together; docs/statistics.md says what each one means and what it does not.
"""
