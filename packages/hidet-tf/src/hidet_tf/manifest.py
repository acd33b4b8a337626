"""What core is told about this plugin; imports no framework."""

from hidet.frontend import Frontend

FRONTEND = Frontend(
    name="tf",
    api=2,
    module="hidet_tf",
    framework="tensorflow",
    requires="tensorflow>=2.17,<2.22",
    host_steps="hidet_tf.importing.foreign:steps",
    files=(".keras",),
    beside="hidet_tf.beside:others",
)
