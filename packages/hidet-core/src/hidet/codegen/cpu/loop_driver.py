"""The function that runs the iterations of a loop whose body consists of launches alone.

It is told everything by tables, so one text serves all loops; `runtime/plans/loop_driver.py`
fills them.
"""

from __future__ import annotations

from functools import cache

from hidet.codegen.common.function import Function
from hidet.runtime.plans.loop_driver import DRIVER, MOST_ARGUMENTS

TEXT = """\
static void launch_of(void *function, const __INTPTR_TYPE__ *v, const int *a, int count) {
  switch (count) {
%(cases)s
  }
}

extern "C" int %(name)s(
    void *const *functions, const int *counts, const int *args, int launches,
    __INTPTR_TYPE__ *values, long long *iteration, const bool *again,
    const int *inputs, const int *outputs, const __INTPTR_TYPE__ *results,
    const __INTPTR_TYPE__ *twins, int carried, int first, int end, int last) {
  int t = first;
  for (; t < end && (t == 0 || !again || *again); ++t) {
    *iteration = t;
    bool to_result = last < 0 ? t %% 2 == 0 : (last - t) %% 2 == 1;
    for (int c = 0; c < carried; ++c)
      if (outputs[c] >= 0) values[outputs[c]] = to_result ? results[c] : twins[c];
    const int *a = args;
    for (int n = 0; n < launches; a += counts[n], ++n)
      launch_of(functions[n], values, a, counts[n]);
    for (int c = 0; c < carried; ++c)
      if (outputs[c] >= 0) values[inputs[c]] = values[outputs[c]];
  }
  return t;
}
"""


@cache
def loop_driver() -> Function:
    """The function; a kernel takes pointers and numbers, all of which go as pointer-sized words."""
    cases = "\n".join(f"    case {n}: {call(n)}; break;" for n in range(MOST_ARGUMENTS + 1))
    return Function(DRIVER, TEXT % {"name": DRIVER, "cases": cases}, ())


def call(count: int) -> str:
    """The call of a function of so many arguments."""
    types = ", ".join(["__INTPTR_TYPE__"] * count)
    values = ", ".join(f"v[a[{n}]]" for n in range(count))
    return f"reinterpret_cast<void (*)({types})>(function)({values})"
