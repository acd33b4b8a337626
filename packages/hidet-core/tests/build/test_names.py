"""Generated names and text depend on what is computed, and on nothing else."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from hidet import ops
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.schedule import implement
from hidet.build.planning.kernels import Recipes
from hidet.build.reports.names import unique
from hidet.fusion import partition
from hidet.graph import symbol, trace_from
from hidet.passes.pipeline import lower
from hidet.target import Target

CUDA = Target.parse("sm_90a")


def kernel_of(function):
    x = symbol((4, 6), device="cuda")
    (group,) = partition(trace_from([function(x)], [x]), lambda op: has_schedule(op, CUDA))
    (kernel,) = implement(group, CUDA)[0].module.kernels
    return unique(lower(kernel), group.name)


def test_a_name_begins_with_the_label_and_differs_where_the_text_does():
    relu, tanh = kernel_of(ops.relu), kernel_of(ops.tanh)
    assert relu.name.startswith("relu_")
    assert unique(relu, "same").name == unique(replace(relu, name="other"), "same").name
    assert unique(relu, "same").name != unique(tanh, "same").name
    assert unique(relu, "a b/c" * 40).name.isidentifier()
    for cut in range(44, 52):
        assert "__" not in unique(relu, f"{'a' * cut}_b__c").name


TEXT = """
import numpy as np
from hidet import ops
from hidet.codegen import cpu, cuda
from hidet.build.draft import RECIPES
from hidet.build.caching.key import canonical
from hidet.build.planning.planner import Planner
from hidet.build.choosing.choices import has_schedule
from hidet.build.workers.units import Units
from hidet.fusion import partition
from hidet.graph import symbol, trace_from
from hidet.optimize import optimize
from hidet.target import Target

x, w, b = symbol((8, 16)), symbol((16, 24)), symbol((24,))
y = ops.softmax(ops.relu(ops.matmul(x + 1.0, w) + b))
z = ops.layer_norm(ops.concat([y, y * 2.0], 1)) + ops.cumsum(ops.tanh(y), 1).sum()
graph = trace_from([z, ops.max(y, 0)], [x, w, b])
print(*canonical(graph), sep="\\n")
for target, language in (("sm_90a", cuda), ("cpu+avx2", cpu)):
    units = Units(Target.parse(target))
    better = optimize(graph)
    planner = Planner(better, units.target, units, {})
    planner.run(partition(better, lambda op: has_schedule(op, units.target)), RECIPES)
    for functions in units.grouped():
        print(language.unit(functions))
    print(*planner.steps, sep="\\n")
"""


def generated(seed):
    env = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", TEXT], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_processes_generate_the_same_text():
    first, second = generated("1"), generated("2")
    assert "__global__" in first
    assert first == second


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_recipe_is_shared_by_groups_that_are_alike(order):
    x, y = symbol((4, 6), device="cuda"), symbol((4, 6), device="cuda")
    inputs = [x, y]
    graph = trace_from([ops.relu(inputs[i]) + 1.0 for i in order], [x, y])
    recipes = Recipes()
    groups = partition(graph, lambda op: has_schedule(op, CUDA))
    parts = [part for group in groups for part in recipes.parts(group, CUDA)]
    assert len(parts) == 2
    assert parts[0].recipe is parts[1].recipe
    assert parts[0].inputs[0] is not parts[1].inputs[0]
