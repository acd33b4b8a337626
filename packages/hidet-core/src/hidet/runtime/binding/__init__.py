"""A plan with its sizes: where each buffer lies, and what may share memory."""
