"""`python -m gpuyard_validator`."""

import sys

from gpuyard_validator.command import main

sys.exit(main())
