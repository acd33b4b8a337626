"""Products of so few rows that reading the weights decides."""
