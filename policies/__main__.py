"""The policy pack: an adapter that shows resources to the rules of `gpuyard_lint.rules`.

The engine re-reads a resource for every policy of a pack, so there are few policies with all rules inside,
one for each level at which rules are enforced.
"""

from pulumi_policy import PolicyPack

from gpuyard_lint.rules import RULES
from pack import policies
from pack_settings import PackSettings, hear_configuration

if __name__ == "__main__":
    held = PackSettings(RULES)
    hear_configuration(held.stack)
    PolicyPack("gpuyard", policies=policies(held=held))
