"""The English of the product: debates, verdicts, experiments, states and errors."""
