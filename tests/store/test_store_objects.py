import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.digest import digest_bytes
from snellen.errors import BadInput, Missing, SnellenError
from snellen.store.objects import ObjectStore

KEY = "ab" + "0" * 62
OTHER = "cd" + "0" * 62


@pytest.fixture
def store(tmp_path):
    return ObjectStore(tmp_path / "objects")


@settings(deadline=None, max_examples=30)
@given(st.binary(max_size=300))
def test_what_is_put_is_got(tmp_path_factory, content):
    store = ObjectStore(tmp_path_factory.mktemp("objects"))

    digest = store.put(KEY, content)

    assert store.get(KEY) == content
    assert store.digest(KEY) == digest == digest_bytes(content)


def test_an_object_can_be_replaced(store):
    store.put(KEY, b"one")
    store.put(KEY, b"two")

    assert store.get(KEY) == b"two"
    assert list(store.keys()) == [KEY]


def test_an_absent_object_is_said_to_be_absent(store):
    assert not store.has(KEY)
    assert store.digest(KEY) is None
    with pytest.raises(Missing, match=KEY):
        store.get(KEY)


@pytest.mark.parametrize("at", [0, 30, 90, -1])
def test_one_changed_byte_anywhere_makes_an_object_absent_and_named(store, at):
    store.put(OTHER, b"intact")
    store.put(KEY, b"some content of an object")
    path = store.root / KEY[:2] / KEY
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)

    assert not store.has(KEY)
    assert store.damaged() == (KEY,)
    with pytest.raises(BadInput, match=f"{KEY}: a damaged object"):
        store.get(KEY)


@pytest.mark.parametrize("length", [0, 10, 85])
def test_a_cut_object_is_damaged(store, length):
    store.put(KEY, b"content")
    path = store.root / KEY[:2] / KEY
    path.write_bytes(path.read_bytes()[:length])

    assert store.damaged() == (KEY,)


def test_opening_sweeps_what_a_dead_writer_left(store):
    store.put(KEY, b"content")
    temp = store.root / KEY[:2] / ".0123456789abcdef.tmp"
    temp.write_bytes(b"hal")

    again = ObjectStore(store.root)

    assert not temp.exists()
    assert again.get(KEY) == b"content"


def test_only_a_digest_is_a_key(store):
    for key in ["", "../x", KEY.upper(), KEY + "\n", KEY[:-1]]:
        with pytest.raises(ValueError, match="is no key"):
            store.has(key)


def test_keys_are_sorted_and_strange_files_are_none(store):
    store.put(OTHER, b"")
    store.put(KEY, b"")
    (store.root / "README").write_bytes(b"")
    (store.root / "ab" / "notes").write_bytes(b"")

    assert list(store.keys()) == [KEY, OTHER]


def test_a_store_needs_a_folder(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(SnellenError, match="no store at"):
        ObjectStore(tmp_path / "file")
