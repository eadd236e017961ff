import csv
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.digest import digest_table
from snellen.errors import BadInput
from snellen.store import tables
from snellen.store.tables import (
    csv_bytes,
    read_csv,
    read_table,
    table_bytes,
    table_from_bytes,
    write_csv,
    write_table,
)

SCHEMA = pa.schema(
    [
        pa.field("item", pa.string(), nullable=False),
        pa.field("rank", pa.int16(), nullable=False),
        pa.field("confidence", pa.float32()),
    ]
)


def table(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def parquet(columns):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


def faults(data, schema=SCHEMA):
    with pytest.raises(BadInput) as caught:
        table_from_bytes(data, schema, "x.parquet")
    return [str(fault) for fault in caught.value.faults]


ROWS = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        st.integers(-(2**15), 2**15 - 1),
        st.none() | st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    max_size=12,
)


# Parquet


@settings(deadline=None)
@given(ROWS)
def test_a_table_is_read_back_as_it_was(rows):
    before = table(rows)

    after = table_from_bytes(table_bytes(before), SCHEMA, "x")

    assert after.schema == SCHEMA
    assert after.to_pylist() == before.to_pylist()


@settings(deadline=None)
@given(ROWS, st.integers(0, 12))
def test_equal_tables_are_equal_bytes_however_they_are_chunked(rows, at):
    whole = table(rows)
    parts = pa.concat_tables([whole.slice(0, at), whole.slice(at)])
    marked = parts.replace_schema_metadata({"made": "elsewhere"})

    assert table_bytes(marked) == table_bytes(whole)


def test_a_written_table_is_named_by_its_content(tmp_path):
    before = table([("a", 1, 0.5), ("b", 1, None)])

    digest = write_table(tmp_path / "x.parquet", before)

    assert digest == digest_table(read_table(tmp_path / "x.parquet", SCHEMA))


def test_every_fault_of_the_columns_is_named():
    data = parquet({"rank": [1.5], "confidence": pa.array([0.5], pa.float32()), "note": ["x"]})

    assert faults(data) == [
        "x.parquet, note: unexpected column; allowed: only item, rank, confidence",
        "x.parquet, item: no such column; allowed: one of type string",
        "x.parquet, rank: type double; allowed: int16",
    ]


def test_columns_in_another_order_are_refused():
    data = parquet(
        {
            "rank": pa.array([1], pa.int16()),
            "item": ["a"],
            "confidence": pa.array([0.5], pa.float32()),
        }
    )

    assert faults(data) == [
        "x.parquet: columns rank, item, confidence; allowed: item, rank, confidence"
    ]


def test_every_fault_of_the_values_is_named_with_its_first_row():
    data = parquet(
        {
            "item": ["a", None, "c", None],
            "rank": pa.array([1, 1, 1, 1], pa.int16()),
            "confidence": pa.array([0.5, None, float("nan"), float("inf")], pa.float32()),
        }
    )

    assert faults(data) == [
        "x.parquet, row 2, item: null (2 of these); allowed: a value",
        (
            "x.parquet, row 3, confidence: NaN or infinity (2 of these); "
            "allowed: a finite number or null"
        ),
    ]


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_text_is_text_however_another_program_held_it(kind):
    data = parquet(
        {
            "item": pa.array(["a", "b"], pa.string()).cast(kind),
            "rank": pa.array([1, 1], pa.int16()),
            "confidence": pa.array([None, 0.5], pa.float32()),
        }
    )

    after = table_from_bytes(data, SCHEMA, "x")

    assert after.equals(table([("a", 1, None), ("b", 1, 0.5)]))


def test_a_small_file_that_spells_one_long_text_many_times_is_refused():
    data = table_bytes(table([("x" * 100_000, 1, None)] * 1000))

    assert len(data) < 200_000
    assert faults(data) == ["x.parquet, item: 100000 characters; allowed: at most 1000 characters"]


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(tables, "TABLE_ROWS", 2)

    assert faults(table_bytes(table([("a", 1, None)] * 3))) == [
        "x.parquet: 3 rows; allowed: at most 2"
    ]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_what_is_no_parquet_is_refused(data):
    (fault,) = faults(data)

    assert fault.endswith("allowed: an undamaged Parquet file")


@settings(deadline=None)
@given(st.data())
def test_a_cut_file_is_refused(data):
    whole = table_bytes(table([("a", 1, 0.5)] * 20))
    length = data.draw(st.integers(0, len(whole) - 1))

    (fault,) = faults(whole[:length])

    assert fault.endswith("allowed: an undamaged Parquet file")


def test_a_damaged_page_is_refused_by_its_checksum():
    data = bytearray(table_bytes(table([("a", 1, 0.5)] * 20)))
    column = pq.ParquetFile(pa.BufferReader(bytes(data))).metadata.row_group(0).column(2)
    data[column.dictionary_page_offset + column.total_compressed_size - 1] ^= 1

    (fault,) = faults(bytes(data))

    assert "CRC" in fault


def test_text_that_is_no_utf8_is_refused():
    (fault,) = faults(
        parquet(
            {
                "item": pa.array([b"a\xff"], pa.binary()).view(pa.string()),
                "rank": pa.array([1], pa.int16()),
                "confidence": pa.array([0.5], pa.float32()),
            }
        )
    )

    assert "Invalid UTF8" in fault


def test_a_file_over_the_limit_is_not_parsed(tmp_path):
    write_table(tmp_path / "x.parquet", table([("a", 1, 0.5)]))

    with pytest.raises(BadInput, match="more than 10 bytes"):
        read_table(tmp_path / "x.parquet", SCHEMA, limit=10)


# CSV


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff20", "  =", "\u00a0+"]
)
def test_text_that_would_be_a_formula_is_defused(start):
    data = csv_bytes(pa.table({"label": [start + "1+1"]}))

    (_, (cell,)) = csv.reader(io.StringIO(data.decode(), newline=""))
    assert cell == "'" + start + "1+1"


def test_numbers_stay_numbers_and_null_is_an_empty_cell(tmp_path):
    write_csv(tmp_path / "x.csv", pa.table({"=n": [-1, None], "label": ["a,b", 'say "x"']}))

    assert (tmp_path / "x.csv").read_bytes() == b'\'=n,label\r\n-1,"a,b"\r\n,"say ""x"""\r\n'


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            st.integers(),
        ),
        max_size=8,
    )
)
def test_every_cell_but_a_defused_one_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    text = [row[0] for row in rows]
    write_csv(
        path, pa.table({"label": pa.array(text, pa.string()), "n": [str(n) for _, n in rows]})
    )

    file = read_csv(path)

    assert file.faults == ()
    assert [cells[0].removeprefix("'") for cells in file.cells] == [
        t.removeprefix("'") for t in text
    ]


def test_rows_are_numbered_as_a_spreadsheet_shows_them(tmp_path):
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbfa,b\r\n1,2\r\n\r\n"x\r\ny",4\r\n')

    file = read_csv(tmp_path / "x.csv")

    assert file.header == ("a", "b")
    assert file.numbers == (2, 4)
    assert file.cells == (("1", "2"), ("x\r\ny", "4"))
    assert file.faults == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ["x.csv: no header; allowed: a first row that names the columns"]),
        (
            b"a,b\n1\n1,2\n1,2,3\n",
            ["x.csv, row 2: 1 cells; allowed: 2", "x.csv, row 4: 3 cells; allowed: 2"],
        ),
        (b"a,b,a\n", ["x.csv, row 1, a: the same column twice; allowed: each column once"]),
        (
            b'a\n1\n"open',
            ["x.csv, row 3: unexpected end of data; allowed: comma-separated values"],
        ),
    ],
)
def test_every_fault_of_a_csv_file_is_named(tmp_path, monkeypatch, data, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_bytes(data)

    file = read_csv(Path("x.csv"))

    assert [str(fault) for fault in file.faults] == expected
