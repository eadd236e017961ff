import numpy as np
import pytest

from snellen.errors import BadInput, Mismatch
from snellen.tasks.isolated.model.neural.checkpoint import START, State, read_state, write_state

CONTRACT = {"model": "gru", "seed": "3"}
VARIABLES = (np.arange(6, dtype=np.float32).reshape(2, 3), np.array([7, 8], np.uint32))
BEST = (np.full((2, 2), 0.1, np.float32),)
STATE = State((0.5, float("inf")), (1e-3, 5e-4), VARIABLES, BEST)


def test_where_there_is_no_file_a_training_starts_anew(tmp_path):
    assert read_state(tmp_path / "none.npz", CONTRACT, VARIABLES, BEST) is START


def test_a_state_comes_back_bit_for_bit(tmp_path):
    path = tmp_path / "deep" / "fit.npz"

    write_state(path, STATE, CONTRACT)
    again = read_state(path, CONTRACT, VARIABLES, BEST)

    assert (again.losses, again.rates) == (STATE.losses, STATE.rates)
    for ours, theirs in zip(
        again.variables + again.best, STATE.variables + STATE.best, strict=True
    ):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_a_checkpoint_of_another_training_is_refused_naming_what_differs(tmp_path):
    path = tmp_path / "fit.npz"
    write_state(path, STATE, CONTRACT)

    with pytest.raises(Mismatch, match="remove it") as refused:
        read_state(path, CONTRACT | {"seed": "4"}, VARIABLES, BEST)

    assert refused.value.fields == {"seed": ("3", "4")}


def test_a_cut_checkpoint_is_refused(tmp_path):
    path = tmp_path / "fit.npz"
    write_state(path, STATE, CONTRACT)
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(BadInput, match="damaged"):
        read_state(path, CONTRACT, VARIABLES, BEST)


def test_a_checkpoint_whose_numbers_were_changed_is_refused(tmp_path):
    path = tmp_path / "fit.npz"
    write_state(path, STATE, CONTRACT)
    with np.load(path, allow_pickle=False) as found:
        arrays = dict(found)
    arrays["rates"] = arrays["rates"] * 2
    np.savez(path, **arrays)

    with pytest.raises(BadInput, match="not the arrays that were written"):
        read_state(path, CONTRACT, VARIABLES, BEST)


def test_a_checkpoint_of_a_network_of_another_size_is_refused(tmp_path):
    path = tmp_path / "fit.npz"
    write_state(path, STATE, CONTRACT)

    with pytest.raises(BadInput, match="variables: 32 bytes; allowed: 24 bytes"):
        read_state(path, CONTRACT, VARIABLES[:1], BEST)
