"""What core is told about this plugin; imports no framework."""

from hidet.frontend import Frontend

# `requires` stays empty until an importer exists: no version of onnx has been tried.
FRONTEND = Frontend(name="onnx", api=1, module="hidet_onnx", framework="onnx", usable=False)
