"""Models that nobody developed the compiler against: what is compiled of them, and how exactly.

`models.CASES` lists them, `pictures` and `sequences` write some out, and
`python -m benchmarks.held_out` prints a table. What fails is mended in the compiler, with a test
there.
"""
