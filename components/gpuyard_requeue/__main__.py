"""`python -m gpuyard_requeue --settings FILE`."""

import sys

from gpuyard_requeue.command import main

sys.exit(main())
