"""What core is told about this plugin; imports no framework."""

from hidet.frontend import Frontend

# `requires` stays empty until an importer exists: no version of tensorflow has been tried.
FRONTEND = Frontend(name="tf", api=2, module="hidet_tf", framework="tensorflow", usable=False)
