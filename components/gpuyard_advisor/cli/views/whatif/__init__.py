"""What jobs of a trace would have done on a platform, as text, as a document and as one HTML page."""

from gpuyard_advisor.cli.views.whatif.document import whatif_document
from gpuyard_advisor.cli.views.whatif.figures import ReplayedStack
from gpuyard_advisor.cli.views.whatif.page import whatif_page
from gpuyard_advisor.cli.views.whatif.text import show_invalid_trace, show_whatif

__all__ = [
    "ReplayedStack",
    "show_invalid_trace",
    "show_whatif",
    "whatif_document",
    "whatif_page",
]
