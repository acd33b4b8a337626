"""What was chosen and why."""
