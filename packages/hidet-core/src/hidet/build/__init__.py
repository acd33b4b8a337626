"""From graphs and modules to archives that run: the pipeline, the compile cache, the workers."""
