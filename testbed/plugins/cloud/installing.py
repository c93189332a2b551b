"""Installs the fakes as an engine's providers: only for tests and stands."""

from pathlib import Path

from testbed.plugins import environment
from testbed.plugins.cloud import account, facts

CLOUDS = ("aws", "gcp")


STAND_INS = Path(__file__).parent / "bin"
"""First on PATH where kubeconfigs run `aws` or `gke-gcloud-auth-plugin`."""


def install(home: Path, cloud_folder: Path) -> dict[str, str]:
    """Install both into this PULUMI_HOME; returns the variables with which an engine finds them and their account.

    Their clusters have no control plane until `inside.control_plane.put` adds one.
    """
    for cloud in CLOUDS:
        name = f"pulumi-resource-{cloud}"
        cache = home / "plugins" / f"resource-{cloud}-v{facts.sdk(cloud)}"
        cache.mkdir(parents=True, exist_ok=True)
        environment.link(cache / name, environment.PLUGINS / "bin" / name)
    return {
        "PULUMI_HOME": str(home.resolve()),
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        account.FOLDER: str(cloud_folder.resolve()),
    }
