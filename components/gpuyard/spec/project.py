"""The project of a stack at Google: what its file tells the provider, beside the platform."""

import re
from collections.abc import Mapping

from gpuyard.catalogue.cluster.names import PROJECT
from gpuyard.findings import Finding, Fix, refuse

PROJECT_KEY = "gcp:project"


def check_project(config: Mapping[str, object], cloud: str) -> list[Finding]:
    """Whether it is the id of a project, as far as the configuration says one in plain text."""
    project = config.get(PROJECT_KEY)
    if cloud != "gcp" or not isinstance(project, str) or PROJECT.pattern.fullmatch(project):
        return []
    near = re.sub(r"[^a-z0-9-]+", "-", project.lower()).strip("-")
    meant = f", such as {near}" if PROJECT.pattern.fullmatch(near) else ""
    return [
        refuse(
            "stack.project",
            ("config", PROJECT_KEY),
            "not the id of a project on gcp, which is not its name",
            given=project,
            allowed=f"6 to 30 small letters, digits and dashes, a letter first, such as {PROJECT.example}",
            fix=Fix(says=f"write the id that `gcloud projects list` shows{meant}"),
        )
    ]
