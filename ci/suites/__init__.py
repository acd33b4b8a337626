"""What suites of cases have in common: scores, processes that survive cases, and what is known."""
