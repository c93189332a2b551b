"""GPU policies: one rule a file, a pure predicate over plain resources; front ends only carry them."""

from gpuyard.rules import gpu_ten_02, gpu_ten_04
from gpuyard.rules.rule import Rule

RULES: tuple[Rule, ...] = (gpu_ten_02.RULE, gpu_ten_04.RULE)
"""Every rule there is, by id."""
