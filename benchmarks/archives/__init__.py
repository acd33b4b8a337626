"""Archives made where there is a framework and no GPU, run where there is a GPU and no framework.

    python -m benchmarks.archives.make FOLDER                 # needs TensorFlow and nvcc, no GPU
    python -m benchmarks.archives.run FOLDER                  # needs hidet-core and a GPU

The folder is small enough to travel: large weights are drawn from seeds on both sides
(`weights.py`), and `run` checks that the archive is the one that was made, byte by byte.
"""
