"""`pulumi-resource-aws` and `pulumi-resource-gcp`: started by the wrappers in ../bin."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from testbed.plugins import messages

messages.alone()

from testbed.plugins.cloud.provider import main  # noqa: E402 - after messages stand alone

main()
