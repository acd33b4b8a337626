"""What core is told about this plugin; imports no framework."""

from hidet.frontend import Frontend

FRONTEND = Frontend(
    name="torch",
    api=2,
    module="hidet_torch",
    framework="torch",
    requires="torch>=2.11,<2.14",
    beside_model="hidet_torch.beside:systems",
)
