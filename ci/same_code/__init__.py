"""Whether a change leaves the CUDA code of schedules as it is.

`problems.py` lists operators, `cases.py` what is compiled of them, `definitions.py` functions for
the automatic schedule, `text.py` makes the code of a case, and `__main__.py` compares two commits.
`tests/schedules/cuda/test_same_code.py` of hidet-core compares a part of the cases with the hashes
of the last change that was meant.
"""
