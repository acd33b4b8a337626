"""What the jobs of the noxfile and the workflows run; has tests like any other code."""
