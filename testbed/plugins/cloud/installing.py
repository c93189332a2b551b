"""Puts the fakes where an engine looks for the providers: only where a test or a stand asks for them."""

from pathlib import Path

from testbed.plugins import environment
from testbed.plugins.cloud import account, facts

CLOUDS = ("aws", "gcp")


STAND_INS = Path(__file__).parent / "bin"
"""Put before PATH where kubeconfigs run `aws` or `gke-gcloud-auth-plugin`."""


def install(home: Path, cloud_folder: Path) -> dict[str, str]:
    """Put both into this PULUMI_HOME; what an engine's environment needs to find them and their account.

    Nothing is inside their clusters until `inside.control_plane.put` has put a control plane there.
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
