"""What a compiled model does at a call: weights, variants, steps that stay with the framework."""
