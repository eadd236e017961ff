"""Arrow tables as Parquet for machines and as CSV for people.

It answers: is this table exactly what its schema says, and is its file the
same bytes whoever wrote it?

*Conventions*: Parquet is written with zstd and without schema metadata; equal
tables give equal bytes under one version of pyarrow, however they were
chunked. The digest of a table is that of its *content*
(:func:`snellen.digest.digest_table`), which outlives pyarrow versions. A row
of a Parquet file counts from 1; a row of a CSV file is what a spreadsheet
shows: the header is row 1.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snellen.digest import digest_table
from snellen.errors import BadInput, Fault
from snellen.store.files import decode_text, read_limited, write_atomic

__all__ = [
    "CSV_LIMIT",
    "TABLE_LIMIT",
    "CsvRows",
    "cleaned",
    "csv_bytes",
    "defused",
    "read_csv",
    "read_table",
    "table_bytes",
    "table_from_bytes",
    "write_csv",
    "write_table",
]

TABLE_LIMIT = 512 * 2**20
TABLE_ROWS = 10_000_000
TEXT_LENGTH = 1_000
CSV_LIMIT = 64 * 2**20
ROW_GROUP = 2**20
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def table_bytes(table: pa.Table) -> bytes:
    """A table as Parquet: equal content and types give equal bytes."""
    sink = pa.BufferOutputStream()
    plain = table.replace_schema_metadata(None).combine_chunks()
    pq.write_table(
        plain, sink, compression="zstd", row_group_size=ROW_GROUP, write_page_checksum=True
    )
    return bytes(sink.getvalue())


def write_table(path: Path, table: pa.Table) -> str:
    """Write a table as Parquet, whole or not at all; returns the digest of its content."""
    write_atomic(path, table_bytes(table))
    return digest_table(table)


def read_table(path: Path, schema: pa.Schema, *, limit: int = TABLE_LIMIT) -> pa.Table:
    """The table in a Parquet file, which must have exactly this schema.

    Raises:
        BadInput: with every fault: columns missing, unexpected, out of order
            or of another type, nulls where none may be, NaN, overlong text.
    """
    return table_from_bytes(read_limited(path, limit), schema, str(path))


def table_from_bytes(data: bytes, schema: pa.Schema, where: str) -> pa.Table:
    """As :func:`read_table`, from the bytes of a Parquet file."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        _raise(_column_faults(file.schema_arrow, schema, where))
        if file.metadata.num_rows > TABLE_ROWS:
            rows = f"{file.metadata.num_rows:,} rows"
            raise BadInput(Fault(where, rows, f"at most {TABLE_ROWS:,}"))
        # Text is read as a dictionary first: a small file may spell one long text
        # many million times, and its length must be known before it is copied out.
        texts = [field.name for field in schema if _is_text(field.type)]
        table = pq.ParquetFile(
            pa.BufferReader(data), read_dictionary=texts, page_checksum_verification=True
        ).read()
        table.validate(full=True)  # Arrow itself would let text pass that is no UTF-8
        _raise(_value_faults(table, schema, where))
        return table.replace_schema_metadata(None).cast(schema).combine_chunks()
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as error:
        seen = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(Fault(where, seen, "an undamaged Parquet file")) from error


def csv_bytes(table: pa.Table) -> bytes:
    r"""A table as CSV for a spreadsheet; text that would be a formula there is defused.

    Such text gets a leading apostrophe (:func:`defused`); numbers stay numbers;
    null is an empty cell. The apostrophe is not taken away when such a file is
    read: machines exchange Parquet or JSON.
    Lines end in CR LF (RFC 4180), which also makes Python quote either of them.

    >>> csv_bytes(pa.table({"label": ["=1+1", None], "n": [-1, 2]}))
    b"label,n\r\n'=1+1,-1\r\n,2\r\n"
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([defused(name) for name in table.column_names])
    columns = [column.to_pylist() for column in table.columns]
    for row in zip(*columns, strict=True):
        writer.writerow([defused(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue().encode()


def write_csv(path: Path, table: pa.Table) -> None:
    """Write :func:`csv_bytes`, whole or not at all."""
    write_atomic(path, csv_bytes(table))


@dataclass(frozen=True, slots=True)
class CsvRows:
    """A CSV file as text: rows that have as many cells as the header, and what is wrong.

    ``numbers`` are the spreadsheet rows of ``cells``. ``faults`` are for the
    caller to raise together with those it finds in the cells.
    """

    header: tuple[str, ...]
    numbers: tuple[int, ...]
    cells: tuple[tuple[str, ...], ...]
    faults: tuple[Fault, ...]


def read_csv(path: Path, *, limit: int = CSV_LIMIT) -> CsvRows:
    """Split a comma-separated UTF-8 file with a header; blank lines are skipped."""
    where = str(path)
    reader = csv.reader(
        io.StringIO(decode_text(read_limited(path, limit), where), newline=""), strict=True
    )
    header: tuple[str, ...] = ()
    rows: list[tuple[int, tuple[str, ...]]] = []
    faults: list[Fault] = []
    number = 0
    try:
        for number, row in enumerate(reader, start=1):
            if not row:
                continue
            if not header:
                header = tuple(row)
            elif len(row) != len(header):
                faults.append(Fault(where, f"{len(row)} cells", f"{len(header)}", number))
            else:
                rows.append((number, tuple(row)))
    except csv.Error as error:
        faults.append(Fault(where, str(error), "comma-separated values", number + 1))
    faults += [
        Fault(where, "the same column twice", "each column once", 1, name)
        for name in sorted({name for name in header if header.count(name) > 1})
    ]
    if not header:
        faults.append(Fault(where, "no header", "a first row that names the columns"))
    return CsvRows(header, tuple(n for n, _ in rows), tuple(r for _, r in rows), tuple(faults))


def cleaned(text: str) -> str:
    """A name as Snellen compares it: without outer blanks, accents composed (Unicode NFC).

    >>> cleaned(" cafe\u0301 ") == "caf\u00e9"
    True
    """
    return unicodedata.normalize("NFC", text).strip()


def defused(text: str) -> str:
    """``text`` behind an apostrophe if a spreadsheet would run it as a formula.

    Blanks do not hide a formula, nor do the wide signs of East Asian keyboards.

    >>> defused("=1+1"), defused("a=b")
    ("'=1+1", 'a=b')
    """
    hidden = text.lstrip().startswith(FORMULA)
    return f"'{text}" if hidden or text.startswith(FORMULA) else text


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    # Parquet has one kind of text; Arrow's kinds only differ in memory.
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _column_faults(seen: pa.Schema, schema: pa.Schema, where: str) -> list[Fault]:
    faults = [
        Fault(where, "unexpected column", f"only {', '.join(schema.names)}", field=name)
        for name in seen.names
        if name not in schema.names
    ]
    for field in schema:
        count = seen.names.count(field.name)
        if count != 1:
            amount = "no such column" if count == 0 else f"{count} such columns"
            faults.append(Fault(where, amount, f"one of type {field.type}", field=field.name))
            continue
        kind = seen.field(field.name).type
        if kind != field.type and not (_is_text(kind) and _is_text(field.type)):
            faults.append(Fault(where, f"type {kind}", str(field.type), field=field.name))
    if not faults and seen.names != schema.names:
        faults.append(Fault(where, f"columns {', '.join(seen.names)}", ", ".join(schema.names)))
    return faults


def _value_faults(table: pa.Table, schema: pa.Schema, where: str) -> list[Fault]:
    faults = []
    for field in schema:
        column = table.column(field.name)
        if not field.nullable and column.null_count:
            faults.append(_first(pc.is_null(column), where, field.name, "null", "a value"))
        if pa.types.is_floating(field.type):
            bad = pc.invert(pc.is_finite(column))
            if pc.any(bad).as_py():
                allowed = "a finite number" + (" or null" if field.nullable else "")
                faults.append(_first(bad, where, field.name, "NaN or infinity", allowed))
        elif _is_text(field.type):
            longest = max(
                (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks),
                default=0,
            )
            if longest > TEXT_LENGTH:
                allowed = f"at most {TEXT_LENGTH} characters"
                faults.append(Fault(where, f"{longest} characters", allowed, field=field.name))
    return faults


def _first(bad: pa.ChunkedArray, where: str, name: str, seen: str, allowed: str) -> Fault:
    """One fault for a column: where it starts and how often it occurs."""
    row = pc.index(bad, value=True).as_py() + 1
    return Fault(where, f"{seen} ({pc.sum(bad).as_py()} of these)", allowed, row, name)


def _raise(faults: list[Fault]) -> None:
    if faults:
        raise BadInput(faults)
