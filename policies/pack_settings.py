"""The settings of the pack, from its configuration: given to the policy `gpuyard`, they hold for all."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuyard.lint.settings import expired, settings_of
from gpuyard.rules.rule import Rule
from gpuyard.rules.run import Settings
from gpuyard.today import today
from pack_resources import plain


class Held:
    """Reads a configuration when it changes, and remembers the one of the first policy."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._read: list[tuple[Mapping[str, Any], Settings, tuple[str, ...]]] = []
        self.shared: Settings | None = None
        """None until the first policy has been asked: before that nobody can know it."""

    def first(self, args: Any) -> Settings:
        """For the policy that all others follow."""
        self.shared = self._settings(args.get_config())
        return self.shared

    def of(self, args: Any) -> Settings:
        """For another policy: its own configuration, else that of the first."""
        own = args.get_config()
        return self._settings(own) if own or self.shared is None else self.shared

    def slips(self) -> list[str]:
        """What no configuration can say, a line each; every rule is then held as it is."""
        return [f"the settings of the pack: {slip}" for _, _, slips in self._read for slip in slips]

    def over(self) -> list[str]:
        """Exceptions that have expired, once each."""
        lines = (line for _, settings, _ in self._read for line in expired(settings))
        return [f"{line}: the rule holds there again" for line in dict.fromkeys(lines)]

    def _settings(self, config: Mapping[str, Any]) -> Settings:
        # the engine's server gives a copy every time, of very few configurations
        for known, settings, _ in self._read:
            if known == config:
                return settings
        settings, slips = settings_of(plain(config), self._rules, today())
        self._read.append((config, settings, tuple(map(str, slips))))
        return settings
