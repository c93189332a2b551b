"""The settings of the pack: from its configuration and from the stack file.

The settings of the policy `gpuyard` apply to all policies. The `policies` section of a stack file is read
twice: from the stack's configuration, before any check, and from the component `Platform`, which is also in
a state and in programs that define their platform in code.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from pulumi_policy import policy as engine

from gpuyard_core.stack_files import CONFIG_KEY
from gpuyard_core.today import today
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.run import RuleConfiguration
from gpuyard_lint.settings import (
    expired_exemptions,
    merge_settings,
    section_of,
    settings_of,
    slip_text,
)
from pack_resources import plain

PLATFORM = "gpuyard:index:Platform"
"""The component that a stack file becomes."""
OF_PACK = "the settings of the pack"
OF_STACK = "policies of the stack file"


class PackSettings:
    """Reads each settings document once, and keeps those that apply to every policy."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._read: list[tuple[str, Any, RuleConfiguration, tuple[str, ...]]] = []
        self._sections: list[RuleConfiguration] = []
        self._together: dict[int, RuleConfiguration] = {}
        """By identity of settings already read: always the same object, so that results need not be recomputed."""
        self.shared: RuleConfiguration | None = None
        """None until the first policy has run: before that it is unknown."""

    def stack(self, config: Mapping[str, str]) -> None:
        """Read the configuration of the stack, with each value as text."""
        try:
            self._hear(json.loads(config.get(CONFIG_KEY, "null")))
        except ValueError:
            return  # no platform, as the program will say

    def first(self, args: Any) -> RuleConfiguration:
        """The settings of the policy that all others follow."""
        if args.resource_type == PLATFORM:
            self._hear(plain(args.props).get("platform"))
        self.shared = self._with_sections(self._settings(OF_PACK, args.get_config()))
        return self.shared

    def of(self, args: Any) -> RuleConfiguration:
        """The settings of another policy: its own configuration, else that of the first."""
        own = args.get_config()
        if own or self.shared is None:
            return self._with_sections(self._settings(OF_PACK, own))
        return self.shared

    def invalid_settings(self) -> list[str]:
        """Invalid settings, one line each; such a document changes nothing."""
        return [f"{whose}: {slip}" for whose, _, _, slips in self._read for slip in slips]

    def expired_exceptions(self) -> list[str]:
        """Exceptions that have expired, once each."""
        lines = (line for _, _, settings, _ in self._read for line in expired_exemptions(settings))
        return [f"{line}: the rule applies again" for line in dict.fromkeys(lines)]

    def _hear(self, platform: Any) -> None:
        section = section_of(platform)
        if section and (heard := self._settings(OF_STACK, section)) not in self._sections:
            self._sections.append(heard)
            self._together.clear()

    def _with_sections(self, settings: RuleConfiguration) -> RuleConfiguration:
        """Settings of the pack take precedence over those of a stack file."""
        if id(settings) not in self._together:
            self._together[id(settings)] = reduce(merge_settings, self._sections, settings)
        return self._together[id(settings)]

    def _settings(self, whose: str, document: Any) -> RuleConfiguration:
        # the engine returns a new copy every time, of very few documents
        for _, known, settings, _ in self._read:
            if known == document:
                return settings
        settings, slips = settings_of(plain(document), self._rules, today())
        self._read.append((whose, document, settings, tuple(map(slip_text, slips))))
        return settings


def hear_configuration(hear: Callable[[Mapping[str, str]], None]) -> None:
    """Receive the stack's configuration, which the engine sends to every pack before it shows resources.

    pulumi-policy 1.21 receives it and keeps only the stack's tags; its method is the only place to
    intercept it.
    """

    class Listening(engine._PolicyAnalyzerServicer):  # noqa: SLF001
        def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802  the engine's name
            hear(dict(request.config))
            return super().ConfigureStack(request, context)

    engine._PolicyAnalyzerServicer = Listening  # type: ignore[misc]  # noqa: SLF001
