"""Any definition on a GPU: elements, rows, columns, windows."""
