from hidet.testing.golden import golden, pytest_addoption

__all__ = ["golden", "pytest_addoption"]
