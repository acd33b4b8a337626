"""Which order of axes each tensor has."""
