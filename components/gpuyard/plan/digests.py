"""Short digests of specs and values; the order of keys does not matter."""

import hashlib
import json

from gpuyard.spec.platform import PlatformSpec


def spec_digest(spec: PlatformSpec) -> str:
    """Twelve hexadecimal digits of the spec's canonical form."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def short_digest(*parts: object) -> str:
    """Six hexadecimal digits of plain values, for names that change with their content."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:6]
