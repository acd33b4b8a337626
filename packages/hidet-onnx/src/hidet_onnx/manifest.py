"""What core is told about this plugin; imports no framework."""

from hidet.frontend import Frontend

FRONTEND = Frontend(
    name="onnx",
    api=2,
    module="hidet_onnx",
    framework="onnx",
    requires="onnx>=1.18,<1.24",
    host_steps="hidet_onnx.importing.reference:steps",
    files=(".onnx",),
    beside="hidet_onnx.beside:others",
)
