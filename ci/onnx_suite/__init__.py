"""The official test suite of ONNX's backends, scored twice: right, and right without host steps."""
