"""Prints how many words and long sentences each page has."""

from scripts.documentation.prose import report

print(report())
