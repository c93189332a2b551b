"""Short names for what a platform says: equal for equal meaning, whatever the order of keys in the file."""

import hashlib
import json

from gpuyard.spec.platform import PlatformSpec


def spec_digest(spec: PlatformSpec) -> str:
    """Twelve hexadecimal digits of the spec's canonical form."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def short_digest(*parts: object) -> str:
    """Six hexadecimal digits of plain values, for names that change with what they stand for."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:6]
