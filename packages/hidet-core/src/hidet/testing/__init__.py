"""Contract tests that plugins and users of Hidet can subclass in their own suites."""
