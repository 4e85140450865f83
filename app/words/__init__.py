"""What the product says to people about debates, verdicts, experiments, states and errors."""
