"""Looking at a text before others see it. Each rule is a pure function from a text to what it found."""
