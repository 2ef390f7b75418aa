"""Result files: one line a deal, appended and flushed as the deals come, so that a kill loses no finished deal.

A file begins with a header that says under which rules and limits it was made. JSON lines and CSV are written directly;
Parquet cannot be appended to, so its rows go to a journal of JSON lines beside it, which is converted at the end. Where
a deal has several lines (a retry that was killed before its end), the last one counts; a torn last line never does.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cardems_solver.outcome import SOLVABLE, UNDECIDED, UNSOLVABLE
from cardems_solver.worklist import WorkList

try:
    import fcntl
except ImportError:  # Windows: no lock, but nothing else changes
    fcntl = None

Header = dict[str, Any]
JOURNAL = ".journal"
"""What a Parquet file's journal has after the file's name."""


class ResultsError(Exception):
    """A result file that cannot be read, written or gone on with; the message names it and says why."""


class Row(NamedTuple):
    """The result of one deal; the fields are those of ``solve --json``. ``most_home`` is Canfield's."""

    deal: str
    verdict: str
    reason: str | None = None
    length: int | None = None
    optimal: bool = False
    lower_bound: int | None = None
    expanded: int = 0
    generated: int = 0
    seconds: float = 0.0
    most_home: int | None = None
    moves: list[str] | None = None


def columns(header: Header) -> list[str]:
    """The fields of a row that a file with this header has."""
    left_out = set()
    if header["game"] != "canfield":
        left_out.add("most_home")
    if not header["moves"]:
        left_out.add("moves")
    return [name for name in Row._fields if name not in left_out]


# --- The two line formats -------------------------------------------------------------------------------------------


class JsonLines:
    """JSON lines. The lines of rows are put together by hand: json.dumps takes several times as long."""

    ready = True
    """Has all that must come before the first row been read?"""

    def __init__(self, header: Header | None = None) -> None:
        self._columns = columns(header) if header else []

    def start(self, header: Header) -> str:
        self._columns = columns(header)
        return json.dumps({"header": header}) + "\n"

    def line(self, row: Row) -> str:
        def or_null(value: Any) -> Any:
            return "null" if value is None else value

        text = (
            f'{{"deal": "{row.deal}", "verdict": "{row.verdict}", '
            f'"reason": {"null" if row.reason is None else json.dumps(row.reason)}, '
            f'"length": {or_null(row.length)}, "optimal": {"true" if row.optimal else "false"}, '
            f'"lower_bound": {or_null(row.lower_bound)}, "expanded": {row.expanded}, '
            f'"generated": {row.generated}, "seconds": {row.seconds:.6f}'
        )
        if "most_home" in self._columns:
            text += f', "most_home": {or_null(row.most_home)}'
        if "moves" in self._columns:
            text += f', "moves": {json.dumps(row.moves)}'
        return text + "}\n"

    def parse(self, line: str) -> Header | Row | None:
        """A header, a row, or None for a line that says nothing."""
        if not line.strip():
            return None
        found = json.loads(line)
        if "header" in found:
            return found["header"]
        return Row(**{name: found[name] for name in Row._fields if name in found})


class Csv:
    """CSV: the header as JSON behind a ``#``, the names of the columns, then the rows."""

    def __init__(self, header: Header | None = None) -> None:
        self._columns = columns(header) if header else []

    @property
    def ready(self) -> bool:
        return bool(self._columns)

    def start(self, header: Header) -> str:
        self._columns = columns(header)
        return f"# {json.dumps(header)}\n{','.join(self._columns)}\n"

    def line(self, row: Row) -> str:
        def text(value: Any) -> str:
            if value is None:
                return ""
            if isinstance(value, bool):
                return "true" if value else "false"
            if isinstance(value, float):
                return f"{value:.6f}"
            return str(value)

        fields = [text(getattr(row, name)) for name in self._columns if name != "moves"]
        if "moves" in self._columns:
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="").writerow(["; ".join(row.moves or [])])
            fields.append(buffer.getvalue())
        return ",".join(fields) + "\n"

    def parse(self, line: str) -> Header | Row | None:
        if line.startswith("#"):
            return json.loads(line[1:])
        if not line.strip():
            return None
        cells = next(csv.reader([line]))
        if cells[0] == "deal":
            self._columns = cells
            return None
        values: dict[str, Any] = dict(zip(self._columns, cells, strict=True))
        for name in ("length", "lower_bound", "expanded", "generated", "most_home"):
            if name in values:
                values[name] = int(values[name]) if values[name] else None
        values["reason"] = values["reason"] or None
        values["optimal"] = values["optimal"] == "true"
        values["seconds"] = float(values["seconds"])
        if "moves" in values:
            values["moves"] = values["moves"].split("; ") if values["moves"] else None
        return Row(**values)


SUFFIXES = (".jsonl", ".csv", ".parquet")


def _format(path: Path) -> type[JsonLines] | type[Csv]:
    """The line format of a result file or journal.

    Raises:
        ResultsError: the name ends in nothing known.
    """
    if path.suffix not in (*SUFFIXES, JOURNAL):
        raise ResultsError(f"{path}: the name must end in {', '.join(SUFFIXES)}")
    return Csv if path.suffix == ".csv" else JsonLines


def _journal(path: Path) -> Path:
    return path.with_name(path.name + JOURNAL)


# --- Reading --------------------------------------------------------------------------------------------------------


class Reader:
    """The headers and rows of a line file, in their order, without a torn last line.

    Attributes:
        size: bytes up to the end of the last whole line read so far, 0 where the beginning is not whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0

    def __iter__(self) -> Iterator[Header | Row]:
        """
        Raises:
            ResultsError: the file cannot be read, or a line of it (other than a torn last one) is not a result.
        """
        format_ = _format(self.path)()
        read = 0
        try:
            with open(self.path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        return
                    try:
                        found = format_.parse(line.decode())
                    except (ValueError, TypeError, KeyError, IndexError):
                        raise ResultsError(f"{self.path}:{number}: not a line of results") from None
                    if number == 1 and not isinstance(found, dict):
                        raise ResultsError(f"{self.path}: not a result file: it does not begin with a header")
                    read += len(line)
                    if format_.ready:
                        self.size = read
                    if found is not None:
                        yield found
        except OSError as error:
            raise ResultsError(f"{self.path}: {error.strerror}") from None


def read_results(path: str | Path) -> Iterator[Header | Row]:
    """The headers and rows of a result file of any format, the newest last.

    Raises:
        ResultsError: it cannot be read.
    """
    path = Path(path)
    if path.suffix != ".parquet":
        yield from Reader(path)
    elif _journal(path).exists():
        yield from Reader(_journal(path))
    else:
        yield from _read_parquet(path)


def split_deal(deal: str) -> tuple[str, int]:
    scheme, _, number = deal.partition(":")
    return scheme, int(number)


# --- Parquet --------------------------------------------------------------------------------------------------------

_HEADER_KEY = b"cardems"
_ROWS_AT_ONCE = 1 << 16


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ResultsError("Parquet needs pyarrow: pip install 'cardems-solver[parquet]'") from None
    return pyarrow


def _schema(pa: Any, header: Header) -> Any:
    types = {
        "deal": pa.string(),
        "verdict": pa.dictionary(pa.int8(), pa.string()),
        "reason": pa.dictionary(pa.int8(), pa.string()),
        "length": pa.int32(),
        "optimal": pa.bool_(),
        "lower_bound": pa.int32(),
        "expanded": pa.int64(),
        "generated": pa.int64(),
        "seconds": pa.float64(),
        "most_home": pa.int8(),
        "moves": pa.list_(pa.string()),
    }
    return pa.schema([(name, types[name]) for name in columns(header)], {_HEADER_KEY: json.dumps(header)})


def _read_parquet(path: Path) -> Iterator[Header | Row]:
    pa = _pyarrow()
    try:
        file = pa.parquet.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ResultsError(f"{path}: {error}") from None
    metadata = file.schema_arrow.metadata or {}
    if _HEADER_KEY not in metadata:
        raise ResultsError(f"{path}: not a result file: it has no header")
    yield json.loads(metadata[_HEADER_KEY])
    for batch in file.iter_batches(_ROWS_AT_ONCE):
        names = batch.schema.names
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Row(**dict(zip(names, values, strict=True)))


def _write_parquet(journal: Path, path: Path) -> None:
    """Make the Parquet file of a journal's rows, in one step as far as anyone can see."""
    pa = _pyarrow()
    temporary = path.with_name(path.name + ".new")
    header = None
    for found in Reader(journal):
        if isinstance(found, dict):
            header = found
    schema = _schema(pa, header)

    def write(writer: Any, rows: list[Row]) -> None:
        arrays = [pa.array([getattr(row, f.name) for row in rows], f.type) for f in schema]
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema))

    try:
        with pa.parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
            rows = []
            for found in Reader(journal):
                if isinstance(found, Row):
                    rows.append(found)
                if len(rows) == _ROWS_AT_ONCE:
                    write(writer, rows)
                    rows = []
            write(writer, rows)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


# --- What is known of a batch that goes on --------------------------------------------------------------------------

MISSING, SOLVED, PROVED_UNSOLVABLE, OPEN, UNPROVED, CUT_SHORT, PAY_OPEN = range(7)
"""States of a deal: OPEN is undecided, UNPROVED solvable but not proved shortest where that was asked, CUT_SHORT
undecided because the batch was ended, to be done again in any case, PAY_OPEN unsolvable, but a limit kept Canfield's
search from proving how many cards can be brought home."""


def state_of(row: Row, optimal: bool) -> int:
    """optimal: was the shortest solution asked for?"""
    if row.verdict == SOLVABLE:
        return UNPROVED if optimal and not row.optimal else SOLVED
    if row.verdict == UNSOLVABLE:
        return PROVED_UNSOLVABLE if row.reason is None else PAY_OPEN
    return CUT_SHORT if row.reason == "interrupted" else OPEN


class Known:
    """What a file says of the deals of a work list: a state and a length each, 5 bytes a deal.

    Attributes:
        states: uint8[deals].
        lengths: int32[deals], -1 for none.
        superseded: lines of the file that a later one has replaced.
    """

    def __init__(self, work: WorkList, optimal: bool) -> None:
        self.work = work
        self.optimal = optimal
        self.states = np.zeros(work.count, np.uint8)
        self.lengths = np.full(work.count, -1, np.int32)
        self.superseded = 0

    def add(self, row: Row) -> tuple[int, int]:
        """Note a row; the state and length that were known before. A deal of another batch changes nothing."""
        index = self.work.index(*split_deal(row.deal))
        if index is None:
            return MISSING, -1
        before = int(self.states[index]), int(self.lengths[index])
        self.superseded += before[0] != MISSING
        self.states[index] = state_of(row, self.optimal)
        self.lengths[index] = -1 if row.length is None else row.length
        return before

    def done(self, retry: bool, fresh: np.ndarray | None = None) -> np.ndarray:
        """Which deals there is nothing to do for, uint8[deals]; with ``retry`` the undecided ones are to do as well,
        but for those marked in ``fresh``."""
        done = (self.states != MISSING) & (self.states != CUT_SHORT)
        if retry:
            again = np.isin(self.states, (OPEN, UNPROVED, PAY_OPEN))
            if fresh is not None:
                again &= fresh == 0
            done &= ~again
        return done.view(np.uint8)


# --- Writing --------------------------------------------------------------------------------------------------------


def _differences(old: Header, new: Header, retry: bool) -> list[str]:
    """How the header of a file differs from the one of the batch that wants to go on with it."""
    found = []
    if old.get("game") != new["game"]:
        found.append(f"the game is {old.get('game')}, not {new['game']}")
    for part in ("rules", "limits"):
        if part == "limits" and retry:
            continue
        theirs = old.get(part, {})
        for name, value in new[part].items():
            if theirs.get(name) != value:
                found.append(f"{name} is {_say(theirs.get(name))}, not {_say(value)}")
    for name in ("optimal", "metric", "moves"):
        if old.get(name) != new[name]:
            found.append(f"{name} is {_say(old.get(name))}, not {_say(new[name])}")
    return found


def _say(value: Any) -> str:
    if value is None:
        return "not set"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


class ResultFile:
    """A result file open for writing.

    Attributes:
        known: what it says already, for a batch that goes on; None for a new file.
        fresh: for a retry that goes on, uint8[deals]: what it has done already.
    """

    def __init__(self, path: str | Path, header: Header, work: WorkList, resume: bool, retry: bool = False) -> None:
        """
        Raises:
            ResultsError: the file exists (and ``resume`` is not set), is in use, cannot be read or written, or was
                made under other rules or limits. ``retry`` allows other limits.
        """
        self.path = Path(path)
        self.known: Known | None = None
        self.fresh: np.ndarray | None = None
        _format(self.path)
        self._lines = self.path
        if self.path.suffix == ".parquet":
            _pyarrow()
            self._lines = _journal(self.path)
        has_results = any(p.exists() and p.stat().st_size for p in {self.path, self._lines})
        if has_results and not resume:
            raise ResultsError(f"{self.path} has results already: --resume goes on with it")
        old = None
        try:
            if has_results and not self._lines.exists():
                self._unpack()
            self._file = open(self._lines, "ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise ResultsError(f"{self.path}: {error.strerror}") from None
        self._size = self._file.seek(0, os.SEEK_END)
        self._lock()
        if has_results:
            old = self._scan(work, header, retry)
        self._format = _format(self._lines)(header)
        if old is None or old["limits"] != header["limits"]:
            self._append(self._format.start(header))
        self._header = header

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise ResultsError(f"{self.path} is being written by another batch") from None

    def _unpack(self) -> None:
        """A Parquet file's rows as a journal that can be appended to."""
        temporary = self._lines.with_name(self._lines.name + ".new")
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                lines = JsonLines()
                for found in _read_parquet(self.path):
                    file.write(lines.start(found) if isinstance(found, dict) else lines.line(found))
            os.replace(temporary, self._lines)
        finally:
            temporary.unlink(missing_ok=True)

    def _scan(self, work: WorkList, header: Header, retry: bool) -> Header | None:
        """Learn what the file says, and cut off a torn last line. The newest header, or None without one."""
        reader = Reader(self._lines)
        newest = None
        known = Known(work, header["optimal"])
        headers = 0
        try:
            for found in reader:
                if isinstance(found, dict):
                    newest = found
                    headers += 1
                    if headers == 2:
                        self.fresh = np.zeros(work.count, np.uint8)
                    elif headers > 2:
                        self.fresh[:] = 0
                    continue
                known.add(found)
                if self.fresh is not None and (index := work.index(*split_deal(found.deal))) is not None:
                    self.fresh[index] = 1
            if newest is not None and (differences := _differences(newest, header, retry)):
                raise ResultsError(f"{self.path} was made otherwise: {'; '.join(differences)}")
        except ResultsError:
            self._file.close()
            raise
        if newest is not None and newest["limits"] != header["limits"]:
            self.fresh = None  # a retry with yet other limits does all of them again
        if not reader.size:
            newest = None
        self._file.truncate(reader.size)
        self._size = reader.size
        self.known = known
        return newest

    def _append(self, text: str) -> None:
        """
        Raises:
            ResultsError: the disk is full, or another error; the file then ends with the last whole block.
        """
        data = memoryview(text.encode())
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
            raise ResultsError(f"{self.path}: {error.strerror}; --resume goes on from here") from None
        self._size += len(text.encode())

    def write(self, rows: Iterable[Row]) -> list[tuple[int, int]] | None:
        """Append rows. For a batch that goes on: the state and length known of each deal before; None for a new one."""
        line: Callable[[Row], str] = self._format.line
        self._append("".join([line(row) for row in rows]))
        return None if self.known is None else [self.known.add(row) for row in rows]

    def close(self) -> None:
        """Leave one line a deal, and make the Parquet file."""
        try:
            os.fsync(self._file.fileno())
            if self.known is not None and self.known.superseded:
                self._compact()
            if self._lines != self.path:
                _write_parquet(self._lines, self.path)
                self._lines.unlink()
        except OSError as error:
            raise ResultsError(f"{self.path}: {error.strerror or error}; --resume goes on from here") from None
        finally:
            self._file.close()

    def _compact(self) -> None:
        """Drop the lines that later ones replaced, and all headers but the last."""
        work = self.known.work
        last = np.zeros(work.count, np.int64)
        last_of_others: dict[str, int] = {}
        for number, found in enumerate(Reader(self._lines)):
            if isinstance(found, Row):
                index = work.index(*split_deal(found.deal))
                if index is None:
                    last_of_others[found.deal] = number
                else:
                    last[index] = number
        temporary = self._lines.with_name(self._lines.name + ".new")
        try:
            with open(temporary, "w", encoding="utf-8", newline="") as file:
                file.write(self._format.start(self._header))
                for number, found in enumerate(Reader(self._lines)):
                    if isinstance(found, Row):
                        index = work.index(*split_deal(found.deal))
                        if number == (last_of_others[found.deal] if index is None else last[index]):
                            file.write(self._format.line(found))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._lines)
        finally:
            temporary.unlink(missing_ok=True)


__all__ = ["SOLVABLE", "UNDECIDED", "UNSOLVABLE", "Known", "ResultFile", "ResultsError", "Row", "read_results"]
