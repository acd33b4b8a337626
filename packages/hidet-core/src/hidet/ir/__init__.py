"""The program form between script and code: expressions, statements, kernels.

Import from the files of this package; `hidet.ir.show` makes every node printable.
"""

from hidet.ir import show as show
