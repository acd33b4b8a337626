"""Files that somebody wrote to do harm; `attack.py` says what each has to end in."""
