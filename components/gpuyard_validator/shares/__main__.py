"""`python -m gpuyard_validator.shares`."""

import sys

from gpuyard_validator.shares.command import main

sys.exit(main())
