"""Functions that cannot be transcribed, each with what is said of it."""

import pytest

from hidet.errors import BadScript


class Mistakes(list):
    """Parameters of a test: function, marked text, message, help and kind of error."""

    def __call__(self, marked, message, help="", kind=BadScript):
        """Say how transcribing the decorated function fails; `{+2}`: two lines below its first."""

        def add(function):
            self.append(pytest.param(function, marked, message, help, kind, id=function.__name__))
            return function

        return add
