"""ONNX files from strangers: damaged, foreign, hostile. Each is named, none is run."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snellen.errors import BadInput, Missing
from snellen.tasks.isolated import onnx_checks, onnx_file
from snellen.tasks.isolated.onnx_file import export_bytes, read_onnx

onnx = pytest.importorskip("onnx", reason="onnx not installed: the [onnx] extra")
pytest.importorskip("onnxruntime", reason="onnxruntime not installed: the [onnx] extra")

helper, numpy_helper = onnx.helper, onnx.numpy_helper


@pytest.fixture
def sound(weights, metadata):
    """The bytes of a file that snellen export wrote."""
    return export_bytes("gru", weights("gru"), metadata)


def faults_of(path, data):
    path.write_bytes(data)
    with pytest.raises(BadInput) as raised:
        read_onnx(path)
    assert {fault.where for fault in raised.value.faults} == {str(path)}
    return {fault.field: fault.seen for fault in raised.value.faults}


def constant(model, name):
    return next(x for x in model.graph.initializer if x.name == name)


def replace_constant(model, name, array):
    constant(model, name).CopyFrom(numpy_helper.from_array(array, name))


def external(model):
    tensor = constant(model, "out.kernel")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


def custom_domain(model):
    model.graph.node[0].domain = "com.example"


def other_operator(model):
    model.graph.node[0].op_type = "Loop"


def other_graph(model):
    branch = helper.make_graph([], "branch", [], [])
    model.graph.node[0].attribute.append(helper.make_attribute("then_branch", branch))


def tensor_setting(model):
    tensor = numpy_helper.from_array(np.zeros(3, np.float32))
    model.graph.node[0].attribute.append(helper.make_attribute("value", tensor))


def function(model):
    model.functions.append(
        helper.make_function("f", "f", ["x"], ["y"], [], [helper.make_opsetid("", 17)])
    )


def training(model):
    model.training_info.add()


def sparse(model):
    model.graph.sparse_initializer.add()


def two_opsets(model):
    model.opset_import.append(helper.make_opsetid("com.example", 1))


def newer_opset(model):
    model.opset_import[0].version = 22


def no_nodes(model):
    del model.graph.node[:]


def entry_twice(model):
    model.metadata_props.add(key="labels", value="[]")


def twice_named(model):
    model.graph.initializer.append(model.graph.initializer[0])


def doubles(model):
    replace_constant(model, "out.bias", np.zeros(3))


def no_number(model):
    replace_constant(model, "out.bias", np.array([0, np.nan, 0], np.float32))


def endless(model):
    replace_constant(model, "out.bias", np.array([0, -np.inf, 0], np.float32))


def lying_size(model):
    constant(model, "out.bias").dims[0] = 1_000_000_000


def other_input(model):
    model.graph.input[0].name = "pixels"


def third_input(model):
    model.graph.input.append(model.graph.input[0])


def no_output(model):
    del model.graph.output[:]


def fixed_batch(model):
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1


def flat_input(model):
    del model.graph.input[0].type.tensor_type.shape.dim[2]


def whole_numbers(model):
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT64


def free_frames(model):
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "frames"


CASES = [
    (external, "graph.initializer 'out.kernel'", "numbers in another file"),
    (custom_domain, "graph.node[0]", "operator Transpose of com.example"),
    (other_operator, "graph.node[0]", "operator Loop of ai.onnx"),
    (other_graph, "graph.node[0]", "setting then_branch that is a graph or a tensor"),
    (tensor_setting, "graph.node[0]", "setting value that is a graph or a tensor"),
    (function, "functions", "1 entries"),
    (training, "training_info", "1 entries"),
    (sparse, "graph.sparse_initializer", "1 entries"),
    (two_opsets, "opset_import", "ai.onnx 17, com.example 1"),
    (newer_opset, "opset_import", "ai.onnx 22"),
    (no_nodes, "graph.node", "0 nodes"),
    (entry_twice, "metadata_props", "'labels' twice"),
    (twice_named, "graph.initializer", "two constants of one name"),
    (doubles, "graph.initializer 'out.bias'", "type 11"),
    (no_number, "graph.initializer 'out.bias'", "not all finite numbers"),
    (endless, "graph.initializer 'out.bias'", "not all finite numbers"),
    (lying_size, "graph.initializer 'out.bias'", "damaged"),
    (other_input, "graph.input", "pixels, mask"),
    (third_input, "graph.input", "values, mask, values"),
    (no_output, "graph.output", "none"),
    (fixed_batch, "graph.input values", "another type or shape"),
    (flat_input, "graph.input values", "another type or shape"),
    (whole_numbers, "graph.input values", "another type or shape"),
    (free_frames, "graph.input values", "another type or shape"),
]


@pytest.mark.parametrize(("edit", "field", "seen"), CASES, ids=[case[0].__name__ for case in CASES])
def test_what_export_does_not_write_is_named_and_not_run(edit, field, seen, sound, tmp_path):
    model = onnx.load_from_string(sound)
    edit(model)

    found = faults_of(tmp_path / "x.onnx", model.SerializeToString())

    assert found[field].startswith(seen)


def test_all_faults_of_a_graph_are_named_at_once(sound, tmp_path):
    model = onnx.load_from_string(sound)
    for edit in (external, custom_domain, function, no_number):
        edit(model)

    found = faults_of(tmp_path / "x.onnx", model.SerializeToString())

    places = {"functions", "graph.node[0]"}
    constants = {"graph.initializer 'out.kernel'", "graph.initializer 'out.bias'"}
    assert set(found) == places | constants


def with_nodes(sound, nodes):
    model = onnx.load_from_string(sound)
    model.graph.node.extend(nodes)
    return model.SerializeToString()


def test_a_graph_that_grows_without_bound_is_refused_before_it_runs(sound, tmp_path):
    # 5 frames x 6 channels, doubled twenty times: 60 million numbers a clip together.
    doubling = [
        helper.make_node("Concat", [name, name], [f"d{k}"], axis=2)
        for k, name in enumerate(["values", *(f"d{k}" for k in range(19))])
    ]

    found = faults_of(tmp_path / "x.onnx", with_nodes(sound, doubling))

    (seen,) = found.values()
    numbers = int(seen.split()[0].replace(",", ""))
    assert seen.endswith("numbers to compute a clip")
    # 30 x (2 + 4 + ... + 2^20), and the little that the network itself computes
    assert 0 <= numbers - 30 * (2**21 - 2) < 1_000


def test_a_size_that_only_the_run_would_tell_is_refused(sound, tmp_path):
    free = helper.make_node("Add", ["mask", "mask"], ["doubled"])

    found = faults_of(tmp_path / "x.onnx", with_nodes(sound, [free]))

    assert found == {"doubled": "a size that cannot be known"}


def test_a_graph_with_a_loose_end_is_not_sound(sound, tmp_path):
    loose = helper.make_node("Relu", ["nowhere"], ["somewhere"])

    found = faults_of(tmp_path / "x.onnx", with_nodes(sound, [loose]))

    assert found[None].startswith("not a sound graph")


@pytest.mark.parametrize("data", [b"<html>not found</html>", b"\x08", b"PK\x03\x04" * 9])
def test_bytes_that_are_no_onnx_are_refused(data, tmp_path):
    assert faults_of(tmp_path / "x.onnx", data) == {None: "not an ONNX file, or a damaged one"}


def test_an_empty_file_holds_no_model(tmp_path):
    found = faults_of(tmp_path / "x.onnx", b"")

    assert found == {"opset_import": "none", "graph.node": "0 nodes"}


def test_an_onnx_file_from_elsewhere_lacks_every_entry(sound, tmp_path):
    model = onnx.load_from_string(sound)
    del model.metadata_props[:]

    found = faults_of(tmp_path / "x.onnx", model.SerializeToString())

    assert {"labels", "layout", "fingerprint", "licence"} <= set(found)
    assert set(found.values()) == {"no such entry"}


def test_metadata_that_contradicts_the_graph_is_named(tmp_path, weights, metadata):
    from msgspec.structs import replace

    said = replace(metadata, labels=("no", "yes"), settings=None, frames=64)
    model = onnx.load_from_string(export_bytes("gru", weights("gru"), metadata))
    helper.set_model_props(model, onnx_file.metadata_to_text(said))

    found = faults_of(tmp_path / "x.onnx", model.SerializeToString())

    assert found == {"frames": "5 of the graph", "labels": "3 of the graph"}


def test_a_file_over_the_limit_is_not_parsed(sound, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_file, "MAX_ONNX_BYTES", len(sound) - 1)

    assert faults_of(tmp_path / "x.onnx", sound) == {None: f"more than {len(sound) - 1:,} bytes"}


def test_too_many_nodes_are_not_looked_at(sound, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_checks, "MAX_ONNX_NODES", 3)

    (seen,) = faults_of(tmp_path / "x.onnx", sound).values()

    assert seen == f"{len(onnx.load_from_string(sound).graph.node)} nodes"


def test_a_folder_and_an_absent_file_are_no_models(tmp_path):
    with pytest.raises(BadInput, match="not a regular file"):
        read_onnx(tmp_path)
    with pytest.raises(BadInput, match="no such file"):
        read_onnx(tmp_path / "absent.onnx")


def test_without_onnx_the_command_that_installs_it_is_said(sound, tmp_path, monkeypatch):
    path = tmp_path / "x.onnx"
    path.write_bytes(sound)
    monkeypatch.setitem(sys.modules, "onnx", None)

    with pytest.raises(Missing, match=r"pip install 'snellen\[onnx\]'"):
        read_onnx(path)


EDITS = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4)


# One file for all examples: it is read again each time.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_a_file_with_changed_bytes_is_refused_or_still_answers_with_shares(edits, sound, tmp_path):
    data = bytearray(sound)
    for at, byte in edits:
        data[at % len(data)] = byte
    path = tmp_path / "changed.onnx"
    path.write_bytes(data)
    try:
        logs = read_onnx(path).log_probabilities(np.zeros((2, 5, 6)), np.ones((2, 5, 2)))
    except BadInput:
        return

    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-3)
