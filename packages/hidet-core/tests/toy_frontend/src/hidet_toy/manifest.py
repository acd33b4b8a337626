"""What core is told about this plugin; imports no framework."""

from hidet.frontend import Frontend

FRONTEND = Frontend(
    name="toy",
    api=2,
    module="hidet_toy",
    framework="numpy",
    requires="numpy>=1.26",
    host_steps="hidet_toy.steps:steps",
)
