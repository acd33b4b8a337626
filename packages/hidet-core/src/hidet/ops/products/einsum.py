"""Einstein summation, planned as diagonals, sums and matmuls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from hidet.compute.sizes import agree, product, same
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.products.matmul import matmul
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.shape import permute, reshape
from hidet.ops.tensors.strided import diagonal
from hidet.types import Size

Labels = tuple[str, ...]
"""A letter for each axis; axes of an ellipsis are "0", "1", ... counted from the last one."""


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Einstein summation as numpy.einsum, for example "bij,bjk->bik"; "..." broadcasts.

    Operands are multiplied from left to right, each pair by one matmul. The types are one type of
    numbers. Raises BadArgument for a wrong equation, ShapeMismatch for sizes that do not fit.
    """
    inputs, output = parsed(equation, [each.ndim for each in operands])
    pairs = zip(operands, inputs, strict=True)
    parts = [without_repeats(each, labels) for each, labels in pairs]
    check_sizes(equation, parts)
    left, labels = summed(*parts[0], kept(parts[1:], output))
    for number, (right, its) in enumerate(parts[1:], 2):
        needed = kept(parts[number:], output)
        left, labels = multiplied(left, labels, *summed(right, its, needed | set(labels)), needed)
    return permute(left, [labels.index(each) for each in output])


def kept(rest: Sequence[tuple[Tensor, Labels]], output: Labels) -> set[str]:
    """The labels that the rest of the operands and the result have."""
    return set(chain(output, *(labels for _, labels in rest)))


def parsed(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of the operands and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise BadArgument(f"{equation!r} is of {len(terms)} operands, not of {len(ranks)}")
    inputs = [labels_of(equation, term, rank) for term, rank in zip(terms, ranks, strict=True)]
    wide = sorted({each for labels in inputs for each in labels if each.isdigit()}, key=int)[::-1]
    if arrow:
        output = labels_of(equation, right, None, wide)
    else:
        counts = Counter(chain(*inputs))
        single = sorted(each for each, n in counts.items() if n == 1 and each.isalpha())
        output = (*wide, *single)
    missing = set(output) - set(chain(*inputs))
    if missing or len(set(output)) != len(output):
        raise BadArgument(f"the result of {equation!r} has axes twice, or that no operand has")
    return inputs, output


def labels_of(equation: str, term: str, rank: int | None, wide: Sequence[str] = ()) -> Labels:
    """The labels of one operand of that rank, or (None) of the result."""
    before, dots, after = term.partition("...")
    if not all(each.isalpha() for each in before + after):
        raise BadArgument(
            f"{equation!r} is no equation: axes are letters", help='as in "ij,jk->ik"'
        )
    if rank is not None:
        count = rank - len(before) - len(after)
        if count < 0 or (count and not dots):
            raise ShapeMismatch(f"{term!r} of {equation!r} is given {rank} axes")
        wide = [str(number) for number in reversed(range(count))]
    return (*before, *(wide if dots else ()), *after)


def without_repeats(x: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """The diagonal of axes that share a label, in place of them."""
    for label, count in Counter(labels).items():
        for _ in range(count - 1):
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = diagonal(x, 0, first, second)
            rest = [each for axis, each in enumerate(labels) if axis not in (first, second)]
            labels = (*rest, label)
    return x, labels


def check_sizes(equation: str, parts: Sequence[tuple[Tensor, Labels]]) -> None:
    """Raise where one letter stands for two sizes, neither of which is 1; sizes that only calls
    tell are taken to be equal."""
    known: dict[str, Size] = {}
    for x, labels in parts:
        for label, size in zip(labels, x.shape, strict=True):
            first = size if same(size, 1) else known.setdefault(label, size)
            if not agree(first, size):
                raise ShapeMismatch(f"{label!r} of {equation!r} is {first} and {size}")


def summed(x: Tensor, labels: Labels, needed: set[str]) -> tuple[Tensor, Labels]:
    """`x` summed over the axes that nobody else needs."""
    axes = [axis for axis, label in enumerate(labels) if label not in needed]
    if not axes:
        return x, labels
    found = total(x, axes, dtype=x.dtype)
    return found, tuple(label for label in labels if label in needed)


def multiplied(
    x: Tensor, mine: Labels, y: Tensor, its: Labels, needed: set[str]
) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over the common axes that nobody else needs."""
    x, mine = without_ones(x, mine, y, its)
    y, its = without_ones(y, its, x, mine)
    both = [each for each in mine if each in its]
    batch = [each for each in both if each in needed]
    inner = [each for each in both if each not in needed]
    rows = [each for each in mine if each not in both]
    columns = [each for each in its if each not in both]
    sizes = dict(zip(its, y.shape, strict=True)) | dict(zip(mine, x.shape, strict=True))

    def arranged(of: Tensor, labels: Labels, *groups: list[str]) -> Tensor:
        order = [labels.index(each) for group in groups for each in group]
        outer, *ends = groups
        shape = [sizes[each] for each in outer]
        return reshape(
            permute(of, order), (*shape, *(product(sizes[e] for e in group) for group in ends))
        )

    a = arranged(x, mine, batch, rows, inner)
    b = arranged(y, its, batch, inner, columns)
    found = matmul(a, b) if inner else a * b
    labels = (*batch, *rows, *columns)
    return reshape(found, tuple(sizes[each] for each in labels)), labels


def without_ones(x: Tensor, mine: Labels, y: Tensor, its: Labels) -> tuple[Tensor, Labels]:
    """`x` without axes of size 1 that the other has in another size."""
    sizes = dict(zip(its, y.shape, strict=True))
    left = [
        axis
        for axis, label in enumerate(mine)
        if not (same(x.shape[axis], 1) and label in sizes and not same(sizes[label], 1))
    ]
    if len(left) == x.ndim:
        return x, mine
    return reshape(x, tuple(x.shape[axis] for axis in left)), tuple(mine[axis] for axis in left)
