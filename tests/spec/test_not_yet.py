"""Words of the vocabulary that are planned but not served: refused by name, never ignored."""

import pytest

from builders import platform, pool, team
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.read import read_platform
from gpuyard.spec.sharing import Sharing
from gpuyard.spec.teams import Team

NOT_YET = [
    *((("pools", 0), word, lambda w: platform([pool(**{w: 1})])) for word in Pool.not_yet),
    *((("teams", 0), word, lambda w: platform(teams=[team(**{w: 1})])) for word in Team.not_yet),
    *(((), word, lambda w: platform(**{w: 1})) for word in PlatformSpec.not_yet),
    *(
        (("pools", 0, "sharing"), word, lambda w: platform([pool(sharing={w: True})]))
        for word in Sharing.not_yet
    ),
]


@pytest.mark.parametrize(("path", "word", "make"), NOT_YET, ids=[n[1] for n in NOT_YET])
def test_a_word_that_is_not_served_yet_is_refused_by_name(path, word, make):
    (finding,) = read_platform(make(word)).findings
    assert (finding.id, finding.path) == ("spec.not_yet", (*path, word))
    assert finding.problem.startswith(f"`{word}` is not served yet: ")
    assert finding.fix.says == f"remove `{word}`"


def test_words_not_served_stand_beside_every_other_error_of_the_same_part():
    raw = platform(
        [
            pool(
                numa=1,
                image="x",
                nodes="4..1",
                color=1,
                scaling="kluster",
                sharing={"dra": 1, "mps": True},
            )
        ],
        [team(priority=1, weight=0, groups=["\x07"])],
        addons=[],
        budget={},
    )
    found = {(f.id, f.where) for f in read_platform(raw).findings}
    assert found == {
        ("spec.not_yet", "addons"),
        ("spec.missing", "budget.worst_usd_per_hour"),
        ("spec.not_yet", "pools[0].numa"),
        ("spec.not_yet", "pools[0].image"),
        ("spec.range_reversed", "pools[0].nodes"),
        ("spec.unknown_field", "pools[0].color"),
        ("spec.enum", "pools[0].scaling"),
        ("spec.not_yet", "pools[0].sharing.dra"),
        ("spec.int_type", "pools[0].sharing.mps"),
        ("spec.not_yet", "teams[0].priority"),
        ("spec.greater_than", "teams[0].weight"),
        ("spec.string_pattern_mismatch", "teams[0].groups[0]"),
    }
