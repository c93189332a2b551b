"""A short name for a spec: equal for equal meaning, whatever the order of keys in the file."""

import hashlib
import json

from gpuyard.spec.platform import PlatformSpec


def spec_digest(spec: PlatformSpec) -> str:
    """Twelve hexadecimal digits of the spec's canonical form."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]
