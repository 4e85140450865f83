"""Rules that check a text before others see it. Each is a pure function from a text to its findings."""
