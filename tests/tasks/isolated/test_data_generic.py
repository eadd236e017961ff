"""The generic folder: clips.csv or clips.parquet, and one array a clip."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.errors import BadInput
from snellen.tasks.isolated.data import clip_features, generic, read, tables
from snellen.tasks.isolated.data.clip_rows import COLUMNS

HANDS = 42
TABLE = "clip_id,label,signer\nb,HELLO,asha\na,YES,bala\n"


@pytest.fixture
def folder(tmp_path):
    """Two clips of layout hands-42, three and five frames long."""
    (tmp_path / "clips.csv").write_text(TABLE)
    (tmp_path / "layout.json").write_text('{"layout": "hands-42"}')
    (tmp_path / "features").mkdir()
    rng = np.random.default_rng(1)
    for name, frames in (("a", 3), ("b", 5)):
        np.save(tmp_path / "features" / f"{name}.npy", rng.uniform(0.1, 1, (frames, HANDS, 3)))
    return tmp_path


def faults_of(folder, **options):
    with pytest.raises(BadInput) as caught:
        read(folder, **options)
    return caught.value.faults


def test_clips_are_sorted_by_name_with_their_facts_and_frames(folder):
    recordings = read(folder)

    assert recordings.source == "generic"
    assert recordings.corpus.items == ("a", "b")
    assert list(recordings.corpus.labels) == ["YES", "HELLO"]
    assert recordings.corpus.vocabulary == ("HELLO", "YES")
    assert recordings.corpus.column("signer") == ["bala", "asha"]
    assert recordings.corpus.column("n_frames") == [3, 5]
    assert recordings.keypoints.values.dtype == np.float32
    assert recordings.keypoints.values.shape == (8, HANDS, 3)
    assert recordings.keypoints.present.all()
    assert recordings.corpus.features == recordings.keypoints.digest


def test_the_marker_file_itself_may_be_named(folder):
    assert read(folder / "clips.csv").corpus.digest == read(folder).corpus.digest


def test_parquet_and_csv_give_the_same_corpus(folder):
    from_csv = read(folder)
    (folder / "clips.csv").unlink()
    table = {"clip_id": ["b", "a"], "label": ["HELLO", "YES"], "signer": ["asha", "bala"]}
    pq.write_table(pa.table(table), folder / "clips.parquet")

    assert read(folder).corpus.digest == from_csv.corpus.digest


def test_all_columns_are_read_and_empty_cells_are_unknown(tmp_path):
    (tmp_path / "clips.csv").write_text(
        "clip_id,label,signer,session,number,stream,category,official\n"
        "x,HELLO,asha,asha/1,2987,MOV,Greetings,train\n"
        "y,,,,,,,\n"
    )

    corpus = read(tmp_path).corpus

    row = {name: corpus.column(name) for name in corpus.clips.column_names}
    assert row == {
        "item": ["x", "y"],
        "signer": ["asha", None],
        "session": ["asha/1", None],
        "number": [2987, None],
        "stream": ["MOV", None],
        "category": ["Greetings", None],
        "official": ["train", None],
        "n_frames": [None, None],
        "note": [None, None],
    }
    assert list(corpus.labels) == ["HELLO", None]
    assert corpus.vocabulary == ("HELLO",)


def test_a_folder_without_features_is_metadata_only_and_says_so(tmp_path):
    (tmp_path / "clips.csv").write_text(TABLE)

    recordings = read(tmp_path)

    assert recordings.keypoints is None
    assert recordings.corpus.features is None
    assert any("no keypoints" in sentence for sentence in recordings.silent)
    assert any("no session is recorded" in sentence for sentence in recordings.silent)
    assert not any("no signer is recorded" in sentence for sentence in recordings.silent)


def test_what_is_known_for_some_clips_only_is_counted(tmp_path):
    (tmp_path / "clips.csv").write_text("clip_id,label,signer\na,X,asha\nb,X,\nc,X,\n")

    assert "signer is unknown for 2 of 3 clips" in read(tmp_path).silent


def test_session_names_shared_by_signers_are_pointed_out(tmp_path):
    (tmp_path / "clips.csv").write_text("clip_id,label,signer,session\na,X,p,1\nb,X,q,1\nc,X,q,2\n")

    assert (
        "1 session names are used by more than one signer: one group each" in read(tmp_path).silent
    )


def test_a_byte_order_mark_and_outer_blanks_are_not_part_of_a_name(folder):
    (folder / "clips.csv").write_bytes(
        b"\xef\xbb\xbfclip_id , label,signer\r\nb, HELLO ,asha\r\na,YES,bala\r\n"
    )

    assert list(read(folder).corpus.labels) == ["YES", "HELLO"]


def test_two_spellings_of_one_accent_are_one_label(tmp_path):
    (tmp_path / "clips.csv").write_text("clip_id,label\na,caf\u00e9\nb,cafe\u0301\n")

    assert read(tmp_path).corpus.vocabulary == ("caf\u00e9",)


def test_joiners_of_indian_scripts_are_letters_but_direction_marks_are_not(tmp_path):
    (tmp_path / "clips.csv").write_text("clip_id,label\na,\u0d28\u0d28\u0d4d\u200d\n")
    assert list(read(tmp_path).corpus.labels) == ["\u0d28\u0d28\u0d4d\u200d"]

    (tmp_path / "clips.csv").write_text("clip_id,label\na,GO\u202eOD\n")
    assert faults_of(tmp_path)[0].allowed == "printable characters"


def test_bytes_that_are_not_utf8_are_named_with_offset_and_line(tmp_path):
    (tmp_path / "clips.csv").write_bytes(b"clip_id,label\na,X\nb,caf\xe9\n")

    (fault,) = faults_of(tmp_path)
    # 14 bytes of header line, 4 of the second, then b , c a f: the byte stands at 14 + 4 + 5.
    assert "byte 0xe9 at offset 23 (line 3)" in fault.seen


def test_every_fault_of_every_row_is_collected(tmp_path):
    (tmp_path / "clips.csv").write_text(
        "clip_id,label,number,official\n"
        "a,X,1,train\n"
        "a,X,2,train\n"
        ",X,3,train\n"
        "d,X,four,train\n"
        "e,X,-5,training\n"
        f"f,{'x' * 129},6,\n"
        'g,"X\tY",7,\n'
    )

    found = [(fault.row, fault.field) for fault in faults_of(tmp_path)]

    assert found == [
        (2, "clip_id"),
        (3, "clip_id"),
        (4, "number"),
        (5, "official"),
        (5, "number"),
        (6, "label"),
        (7, "label"),
    ]


def test_an_unknown_column_suggests_the_right_one(tmp_path):
    (tmp_path / "clips.csv").write_text("clip_id,label,signr\na,X,p\n")

    (fault,) = faults_of(tmp_path)
    assert "unknown column 'signr'" in fault.seen
    assert fault.allowed.endswith("did you mean 'signer'?")


def test_missing_columns_are_all_named(tmp_path):
    (tmp_path / "clips.csv").write_text("signer\np\n")

    assert [fault.seen for fault in faults_of(tmp_path)] == [
        "no column 'clip_id'",
        "no column 'label'",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty file"),
        ("clip_id,label\n", "0 clips"),
        ("clip_id,label\na,X,extra\nb\n", "3 cells"),
        ("clip_id,label,label\na,X,Y\n", "a column twice"),
        ('clip_id,label\na,"X\n', "unexpected end of data"),
        ("clip_id,label\na,X\0Y\n", "printable"),
    ],
)
def test_a_broken_table_is_refused_and_says_why(tmp_path, text, words):
    (tmp_path / "clips.csv").write_text(text)

    assert words in " ".join(map(str, faults_of(tmp_path)))


def test_both_tables_at_once_are_ambiguous(folder):
    pq.write_table(pa.table({"clip_id": ["a"], "label": ["X"]}), folder / "clips.parquet")

    assert "both clips.csv and clips.parquet" in faults_of(folder)[0].seen


def test_a_gap_in_a_pandas_number_column_stays_a_gap(tmp_path):
    table = pa.table({"clip_id": ["a", "b"], "label": ["X", "X"], "number": [12.0, float("nan")]})
    pq.write_table(table, tmp_path / "clips.parquet")

    assert read(tmp_path).corpus.column("number") == [12, None]


def test_a_parquet_column_of_lists_is_refused(tmp_path):
    pq.write_table(pa.table({"clip_id": ["a"], "label": [["X"]]}), tmp_path / "clips.parquet")

    assert faults_of(tmp_path)[0].field == "label"


def test_a_cut_parquet_table_is_a_bad_input_at_every_length(tmp_path):
    path = tmp_path / "clips.parquet"
    pq.write_table(pa.table({"clip_id": ["a"], "label": ["X"]}), path)
    whole = path.read_bytes()

    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert faults_of(tmp_path)


def test_nan_makes_a_point_missing_and_its_values_zero(folder):
    values = np.full((3, HANDS, 3), 0.5)
    values[1, 7, 2] = np.nan
    np.save(folder / "features" / "a.npy", values)

    values, present = read(folder).keypoints.clip(0)

    assert np.argwhere(~present).tolist() == [[1, 7]]
    assert values[1, 7].tolist() == [0, 0, 0]


def test_the_mask_of_an_npz_is_kept(folder):
    (folder / "features" / "a.npy").unlink()
    present = np.ones((2, HANDS), bool)
    present[0, :21] = False
    np.savez(folder / "features" / "a.npz", values=np.ones((2, HANDS, 3)), present=present)

    assert read(folder).keypoints.clip(0)[1].tolist() == present.tolist()


def test_flat_frames_are_read_point_by_point(folder):
    values = np.arange(1, 1 + 2 * HANDS * 3, dtype=np.float32).reshape(2, HANDS, 3)
    np.save(folder / "features" / "a.npy", values.reshape(2, -1))

    assert read(folder).keypoints.clip(0)[0].tolist() == values.tolist()


def test_zeros_count_as_measured_and_are_mentioned_unless_the_folder_says_missing(folder):
    values = np.full((3, HANDS, 3), 0.5)
    values[2, :21] = 0
    np.save(folder / "features" / "a.npy", values)

    measured = read(folder)
    (folder / "layout.json").write_text('{"layout": "hands-42", "zeros_are_missing": true}')
    missing = read(folder)

    # 21 of (3 + 5) x 42 = 336 points are 6.25 %.
    assert measured.keypoints.present.all()
    assert any("21 points (6.25 %) are exactly zero" in line for line in measured.silent)
    assert np.argwhere(~missing.keypoints.clip(0)[1])[:, 0].tolist() == [2] * 21
    assert not any("exactly zero" in line for line in missing.silent)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((3, HANDS, 2)), "shape (3, 42, 2); allowed: (frames, 42, 3)"),
        (np.ones((3, HANDS * 3 + 1)), "shape (3, 127)"),
        (np.ones((0, HANDS, 3)), "0 frames"),
        (np.full((3, HANDS, 3), np.inf), "an infinite value (frame 0, point 0"),
        (np.full((3, HANDS, 3), 1e300), "an infinite value"),
        (np.full((3, HANDS, 3), "x"), "an array of <U1"),
        (np.ones((3, HANDS, 3), bool), "an array of bool"),
    ],
)
def test_a_wrong_array_is_refused_and_says_why(folder, array, words):
    np.save(folder / "features" / "a.npy", array)

    (fault,) = faults_of(folder)
    assert words in str(fault)
    assert fault.where == "features/a.npy"


@pytest.mark.parametrize(
    "present", [np.ones((2, 3), bool), np.ones((2, HANDS)), np.ones((2, HANDS, 3), bool)]
)
def test_a_mask_of_another_shape_or_type_is_refused(folder, present):
    (folder / "features" / "a.npy").unlink()
    np.savez(folder / "features" / "a.npz", values=np.ones((2, HANDS, 3)), present=present)

    assert "booleans of shape (2, 42)" in faults_of(folder)[0].allowed


def test_faults_of_the_table_and_of_all_arrays_come_together(folder):
    (folder / "clips.csv").write_text("clip_id,label,number\na,X,1\nb,X,2\nc,X,three\nd,X,4\n")
    np.save(folder / "features" / "a.npy", np.ones((3, 7)))
    (folder / "features" / "b.npy").write_bytes(b"\x93NUMPY cut")

    found = [str(fault) for fault in faults_of(folder)]

    assert len(found) == 4
    assert "row 3, number" in found[0]
    assert "features/a.npy: shape (3, 7)" in found[1]
    assert "features/b.npy" in found[2]
    assert "no file for 'd'" in found[3]


def test_an_npz_cut_at_any_offset_is_a_bad_input(folder):
    (folder / "features" / "a.npy").unlink()
    path = folder / "features" / "a.npz"
    np.savez_compressed(path, values=np.random.default_rng(0).normal(size=(4, HANDS, 3)))
    whole = path.read_bytes()

    for length in range(0, len(whole), 61):
        path.write_bytes(whole[:length])
        assert faults_of(folder)


def test_a_path_column_leads_to_the_files(folder):
    (folder / "clips.csv").write_text("clip_id,label,path\nfirst,X,features/a.npy\n")

    assert read(folder).keypoints.lengths.tolist() == [3]


@pytest.mark.parametrize(
    "path", ["../secret.npy", "features/../../secret.npy", "link.npy", "out/secret.npy"]
)
def test_no_path_and_no_link_leads_out_of_the_folder(folder, path):
    inside = folder / "data"
    inside.mkdir()
    np.save(folder / "secret.npy", np.ones((3, HANDS, 3)))
    (inside / "link.npy").symlink_to(folder / "secret.npy")
    (inside / "out").symlink_to(folder)
    (inside / "clips.csv").write_text(f"clip_id,label,path,layout\na,X,{path},hands-42\n")

    assert "leads out of the folder" in faults_of(inside)[0].seen


def test_an_absolute_path_is_refused_even_when_it_lies_inside(folder):
    absolute = folder / "features" / "a.npy"
    (folder / "clips.csv").write_text(f"clip_id,label,path\na,X,{absolute}\n")

    assert "leads out of the folder" in faults_of(folder)[0].seen


def test_a_clip_name_cannot_climb_out_either(tmp_path):
    (tmp_path / "features").mkdir()
    (tmp_path / "clips.csv").write_text("clip_id,label,layout\n../../etc/passwd,X,hands-42\n")

    assert "leads out of the folder" in faults_of(tmp_path)[0].seen


def test_links_in_a_circle_and_names_too_long_for_a_disk_lead_nowhere(folder):
    (folder / "features" / "circle.npy").symlink_to(folder / "features" / "circle.npy")
    (folder / "clips.csv").write_text(
        f"clip_id,label,path\na,X,features/circle.npy\nb,X,features/{'é' * 190}\n"
    )

    circle, long = (str(fault) for fault in faults_of(folder))
    assert circle.startswith("clips.csv, row 1: 'features/circle.npy' ")
    assert long.startswith("clips.csv, row 2: 'features/éé")
    assert "leads nowhere (" in long


def test_two_files_for_one_clip_are_ambiguous(folder):
    np.savez(folder / "features" / "a.npz", values=np.ones((2, HANDS, 3)))

    assert "two files for 'a'" in faults_of(folder)[0].seen


def test_the_layout_may_come_from_a_column_or_from_the_caller(folder):
    (folder / "layout.json").unlink()
    from_caller = read(folder, layout="hands-42")
    (folder / "clips.csv").write_text("clip_id,label,layout\na,X,hands-42\nb,X,hands-42\n")

    assert from_caller.keypoints.layout.name == "hands-42"
    assert read(folder).keypoints.layout.name == "hands-42"


@pytest.mark.parametrize(
    ("column", "argument", "words"),
    [
        ("", None, "no layout named"),
        ("hands-42", "pose-33", "hands-42 and pose-33"),
        ("hands-24", None, "did you mean 'hands-42'?"),
    ],
)
def test_no_layout_two_layouts_and_an_unknown_one_are_faults(folder, column, argument, words):
    (folder / "layout.json").unlink()
    (folder / "clips.csv").write_text(f"clip_id,label,layout\na,X,{column}\nb,X,{column}\n")

    assert words in str(faults_of(folder, layout=argument)[0])


def test_layouts_mixed_over_the_rows_are_a_fault(folder):
    (folder / "clips.csv").write_text("clip_id,label,layout\na,X,hands-42\nb,X,pose-33\n")

    assert "hands-42 and pose-33" in faults_of(folder)[0].seen


def test_a_layout_of_ones_own_is_described_in_full(folder):
    own = {
        "name": "two-fingers",
        "points": ["thumb", "index", "left_shoulder", "right_shoulder"],
        "dims": ["x", "y"],
        "unit": "pixel",
        "blocks": [
            {"name": "hand", "start": 0, "stop": 2},
            {"name": "body", "start": 2, "stop": 4},
        ],
        "shoulders": ["left_shoulder", "right_shoulder"],
    }
    (folder / "layout.json").write_text(json.dumps({"layout": own}))
    for name in "ab":
        np.save(folder / "features" / f"{name}.npy", np.ones((2, 4, 2)))

    layout = read(folder).keypoints.layout

    assert layout.points == ("thumb", "index", "left_shoulder", "right_shoulder")
    assert [(b.name, b.start, b.stop) for b in layout.blocks] == [("hand", 0, 2), ("body", 2, 4)]
    assert (layout.unit, layout.shoulders) == ("pixel", (2, 3))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "hands-42"}, "a name Snellen does not use"),
        ({"points": ["a", "a"]}, "a point twice"),
        ({"blocks": [{"name": "x", "start": 0, "stop": 1}]}, "0:1"),
        ({"blocks": [{"name": "x", "start": 1, "stop": 2}]}, "1:2"),
        ({"shoulders": ["a", "c"]}, "'c'"),
        ({"unit": "inch"}, "inch"),
        ({"colour": 1}, "colour"),
        ({"points": []}, "length >= 1"),
    ],
)
def test_a_layout_that_does_not_fit_itself_is_refused(folder, change, words):
    own = {"name": "own", "points": ["a", "b"], "dims": ["x"], "unit": "image"} | change
    (folder / "layout.json").write_text(json.dumps({"layout": own}))

    assert words in str(faults_of(folder)[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "property name"),
        ('{"layout": "hands-42", "layout": "pose-33"}', "a key twice"),
        ('{"layout": "hands-42", "zeros_are_missing": 1}', "Expected `bool`"),
        ('{"zeros_are_missing": true}', "missing required field"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_layout_file_that_is_not_strict_json_is_refused(folder, text, words):
    (folder / "layout.json").write_text(text)

    assert words.lower() in str(faults_of(folder)[0]).lower()


def test_the_total_size_of_a_folder_is_limited(folder, monkeypatch):
    monkeypatch.setattr(generic, "MAX_COLLECTION_BYTES", 3 * HANDS * 3 * 4)

    assert "too many numbers" in faults_of(folder)[0].seen


def test_rows_are_limited_in_csv_and_in_parquet(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MAX_CLIPS", 1)
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "clips.csv").write_text(TABLE)
    (tmp_path / "parquet").mkdir()
    table = pa.table({"clip_id": ["a", "b"], "label": ["X", "X"]})
    pq.write_table(table, tmp_path / "parquet" / "clips.parquet")

    assert faults_of(tmp_path / "csv")[0].seen == "more than 1 rows"
    assert faults_of(tmp_path / "parquet")[0].seen.startswith("2 rows")


def test_a_small_parquet_file_that_spells_one_long_text_many_times_is_not_copied_out(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 2**20)  # a limit is reserved before reading
    table = pa.table({"clip_id": [f"c{k}" for k in range(4000)], "label": ["x" * 100_000] * 4000})
    pq.write_table(table, tmp_path / "clips.parquet", compression="zstd")
    del table
    tracemalloc.start()
    try:
        header, rows = tables.read_parquet(tmp_path / "clips.parquet")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (header, len(rows)) == (["clip_id", "label"], 4000)
    assert peak < 10_000_000
    assert faults_of(tmp_path)[0].seen == "100000 characters"


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_text_and_numbers_are_read_however_parquet_holds_them(tmp_path, kind):
    label = pa.array(["a", None, " cafe\u0301"]).cast(kind)
    table = pa.table({"label": label, "number": [1.0, None, 3.5], "n": pa.array([7, 8, 9])})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)

    assert tables.read_parquet(tmp_path / "x.parquet")[1] == [
        {"label": "a", "number": "1", "n": "7"},
        {"label": "", "number": "", "n": "8"},
        {"label": "caf\u00e9", "number": "3.5", "n": "9"},
    ]


def test_frames_names_and_the_layout_file_are_limited(folder, monkeypatch):
    monkeypatch.setattr(clip_features, "MAX_FRAMES", 4)
    assert faults_of(folder)[0].seen == "5 frames"

    (folder / "clips.csv").write_text(f"clip_id,label\n{'a' * 201},X\n")
    assert faults_of(folder)[0].seen == "201 characters"

    (folder / "layout.json").write_text(" " * 1_000_001)
    assert "more than 1,000,000 bytes" in {fault.seen for fault in faults_of(folder)}


def test_the_documented_columns_are_those_that_are_read():
    page = (Path(__file__).parents[3] / "docs" / "data-formats.md").read_text()

    documented = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert documented[: len(COLUMNS)] == list(COLUMNS)
