"""Tables from strangers, as rows of plain text: CSV and Parquet.

*Conventions*: a row is a dict from column name to text without outer blanks; an
empty cell is "". Rows are counted from 1, the header not counted. Text is
brought to Unicode NFC, so that one word cannot be two labels by its accents.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from snellen.errors import BadInput, Fault
from snellen.limits import MAX_CLIPS, MAX_TABLE_BYTES
from snellen.signal.arrays import read_bytes
from snellen.store.tables import cleaned

__all__ = ["Rows", "read_csv", "read_parquet", "read_text"]

Rows = list[dict[str, str]]


def read_text(path: Path, max_bytes: int = MAX_TABLE_BYTES) -> str:
    """A UTF-8 text file, with or without a byte order mark.

    Raises:
        BadInput: not UTF-8; the message names the byte and its line.
    """
    data = read_bytes(path, max_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        seen = f"byte 0x{data[error.start]:02x} at offset {error.start} (line {line})"
        raise BadInput(Fault(path.name, seen, "UTF-8 text")) from error


def read_csv(path: Path) -> tuple[list[str], Rows]:
    """Header and rows of a comma-separated file.

    Raises:
        BadInput: with every row whose number of cells differs from the header's.
    """
    where = path.name
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    faults: list[Fault] = []
    rows: Rows = []
    try:
        header = [cleaned(name) for name in next(reader, [])]
        _check_header(header, where)
        for cells in reader:
            if not cells:
                continue
            if len(rows) + len(faults) >= MAX_CLIPS:
                raise BadInput(Fault(where, f"more than {MAX_CLIPS:,} rows", f"{MAX_CLIPS:,}"))
            row = len(rows) + len(faults) + 1
            if len(cells) != len(header):
                faults.append(Fault(where, f"{len(cells)} cells", f"{len(header)}", row))
                continue
            rows.append(dict(zip(header, map(cleaned, cells), strict=True)))
    except csv.Error as error:
        faults.append(Fault(where, f"{error} (line {reader.line_num})", "comma-separated values"))
    if faults:
        raise BadInput(faults)
    return header, rows


def read_parquet(path: Path) -> tuple[list[str], Rows]:
    """Header and rows of a Parquet file, each cell as text.

    Raises:
        BadInput: damaged, too large, or with a column that is neither text nor number.
    """
    where = path.name
    data = read_bytes(path, MAX_TABLE_BYTES)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        groups = range(file.metadata.num_row_groups)
        unpacked = sum(file.metadata.row_group(k).total_byte_size for k in groups)
        if file.metadata.num_rows > MAX_CLIPS or unpacked > MAX_TABLE_BYTES:
            seen = f"{file.metadata.num_rows:,} rows, {unpacked:,} bytes unpacked"
            raise BadInput(Fault(where, seen, f"{MAX_CLIPS:,} rows, {MAX_TABLE_BYTES:,} bytes"))
        header = [cleaned(name) for name in file.schema_arrow.names]
        _check_header(header, where)
        faults = [
            Fault(where, f"type {field.type}", "text or numbers", None, field.name)
            for field in file.schema_arrow
            if not _is_plain(field.type)
        ]
        if faults:
            raise BadInput(faults)
        table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=header).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(Fault(where, f"cannot be read ({error})", "a Parquet file")) from error
    columns = [_cells(column) for column in table.columns]
    return header, [dict(zip(header, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _cells(column: pa.ChunkedArray) -> list[str]:
    """The cells of a column. A small file may spell one long text many times: it is held once."""
    cells: list[str] = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            texts = [_text(value) for value in chunk.dictionary.to_pylist()]
            cells += ["" if k is None else texts[k] for k in chunk.indices.to_pylist()]
        else:
            cells += map(_text, chunk.to_pylist())
    return cells


def _check_header(header: list[str], where: str) -> None:
    if not header:
        raise BadInput(Fault(where, "an empty file", "a header and one row a clip"))
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise BadInput([Fault(where, "a column twice", "once", None, name) for name in twice])


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)
    return any(check(kind) for check in (*checks, pa.types.is_floating, pa.types.is_null))


def _text(value: object) -> str:
    """A Parquet cell as CSV would have it; pandas writes a 12 as 12.0 beside a gap."""
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() else str(value)
    return cleaned(str(value))
