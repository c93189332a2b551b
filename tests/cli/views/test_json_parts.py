"""A document written in parts is the document."""

import json

import pytest

from gpuyard_core.terminal.documents import as_json, json_parts


@pytest.mark.parametrize("values", [[], [1], [{"a": [1, {"b": "\x7f"}]}, {}, [], "x\ny"]])
def test_it_is_the_same_text(values):
    def whole(found):
        return {"said": 'a key in text: "hits": []', "runs": [{"hits": found, "more": [2]}]}

    parts = list(json_parts(whole([]), "hits", iter(values)))
    assert "".join(parts) == as_json(whole(values))
    assert len(parts) == len(values) + 1
    assert json.loads("".join(parts)) == whole(values)
