"""An exported file is one piece: whatever is changed in it, it is no model any more."""

import numpy as np
import pytest

from snellen.errors import BadInput
from snellen.tasks.isolated.onnx_file import export_bytes, read_onnx
from snellen.tasks.isolated.onnx_metadata import metadata_from_text

onnx = pytest.importorskip("onnx", reason="onnx not installed: the [onnx] extra")
pytest.importorskip("onnxruntime", reason="onnxruntime not installed: the [onnx] extra")


@pytest.fixture
def exported(tmp_path, weights, metadata):
    path = tmp_path / "model.onnx"
    path.write_bytes(export_bytes("gru", weights("gru"), metadata))
    return path


def changed(path, change):
    model = onnx.load_model_from_string(path.read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())
    return path


def entry(model, key):
    return next(one for one in model.metadata_props if one.key == key)


def swap_labels(model):
    entry(model, "labels").value = '["yes","thank you","no"]'


def move_a_weight(model):
    tensor = next(one for one in model.graph.initializer if one.name == "out.bias")
    values = onnx.numpy_helper.to_array(tensor).copy()
    values[0] += np.float32(0.5)
    tensor.CopyFrom(onnx.numpy_helper.from_array(values, "out.bias"))


@pytest.mark.parametrize("change", [swap_labels, move_a_weight])
def test_a_file_whose_words_or_weights_were_changed_is_refused(exported, change):
    read_onnx(exported)

    with pytest.raises(BadInput, match="not the graph or metadata that was written"):
        read_onnx(changed(exported, change))


def test_sizes_a_file_claims_for_itself_are_not_believed(exported):
    def claim(model):
        name = model.graph.node[0].output[0]
        model.graph.value_info.append(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
        )

    with pytest.raises(BadInput, match="not the graph or metadata that was written"):
        read_onnx(changed(exported, claim))


@pytest.mark.parametrize(
    ("field", "value", "seen"),
    [
        ("labels", '["a",""]', "an empty or unprintable label"),
        ("labels", '["a","b\\u001b"]', "an empty or unprintable label"),
        ("round", "-5", "-5"),
        ("seed", "-3", "-3"),
        ("preprocessing", "nope", "'nope'"),
    ],
)
def test_impossible_metadata_is_named(exported, field, value, seen):
    model = onnx.load_model_from_string(exported.read_bytes())
    entries = {one.key: one.value for one in model.metadata_props if one.key != "content"}

    with pytest.raises(BadInput, match=seen) as caught:
        metadata_from_text({**entries, field: value}, "model.onnx")

    assert field in {fault.field for fault in caught.value.faults}
