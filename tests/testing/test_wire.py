"""The wire format, compared with the SDK that is installed."""

from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st
from pulumi.runtime import rpc

from gpuyard_testing import UNKNOWN, ResourceRef, wire


def test_the_marks_are_the_sdks():
    assert rpc.UNKNOWN == wire.UNKNOWN_TEXT
    assert rpc._special_sig_key == wire.SIGNATURE_KEY
    assert rpc._special_secret_sig == wire.SECRET
    assert rpc._special_resource_sig == wire.RESOURCE


SCALAR = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
INNER = SCALAR | st.lists(SCALAR, max_size=3) | st.dictionaries(st.text(), SCALAR, max_size=3)
PLAIN = INNER | st.lists(INNER, max_size=3) | st.dictionaries(st.text(), INNER, max_size=3)


@given(st.dictionaries(st.text(), PLAIN))
def test_plain_values_survive_the_wire(values):
    struct = Struct()
    wire.encode(values, struct)
    decoded = wire.decode(struct)
    assert decoded.values == values
    assert decoded.secrets == set()


def test_unknowns_and_references_survive_the_wire():
    values = {"a": [UNKNOWN], "b": ResourceRef("urn:pulumi:s::p::t::n", UNKNOWN)}
    struct = Struct()
    wire.encode(values, struct)
    assert wire.decode(struct).values == values


def test_a_reference_to_a_component_has_no_id():
    struct = Struct()
    struct.update({"r": {wire.SIGNATURE_KEY: wire.RESOURCE, "urn": "u"}})
    assert wire.decode(struct).values == {"r": ResourceRef("u")}


def test_hiding_keeps_secrets_secret():
    struct = Struct()
    struct.update({"a": 1, "s": {wire.SIGNATURE_KEY: wire.SECRET, "value": "x"}})
    wire.hide(struct)
    decoded = wire.decode(struct)
    assert decoded.values == {"a": UNKNOWN, "s": UNKNOWN}
    assert decoded.secrets == {"s"}
