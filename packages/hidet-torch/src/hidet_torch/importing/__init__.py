"""From an fx graph of ATen operators to a FlowGraph: the kit's walk, and what only PyTorch has.

Start with `importer.py`; `imported.py` is what comes out.
"""
