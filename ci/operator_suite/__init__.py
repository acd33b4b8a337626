"""PyTorch's own samples of its operators (OpInfo), scored twice: right, and right as compiled.

`cases.py` has the samples, `score.py` compiles and compares them, `page.py` writes the list of what
is not compiled. Start reading at `score.py`.
"""
