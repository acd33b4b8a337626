"""`python -m hidet.cli`: the same as the command `hidet`."""

import sys

from hidet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
