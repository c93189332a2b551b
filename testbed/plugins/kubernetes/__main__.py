"""`pulumi-resource-kubernetes`: started by the wrapper in ../bin with an isolated interpreter."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from testbed.plugins import messages

messages.alone()

from testbed.plugins.kubernetes.provider import main  # noqa: E402 - after messages stand alone

main()
