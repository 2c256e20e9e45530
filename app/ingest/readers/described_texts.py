"""Texts in files, with labels, titles, splits and columns from the files' names or from tables next to them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from topiary.app.ingest import files
from topiary.app.ingest.errors import IngestError
from topiary.app.ingest.options import NONE, ImportOptions
from topiary.app.ingest.readers import companions, texts
from topiary.app.ingest.readers.documents import KINDS
from topiary.app.ingest.source import Reader, TextDocument, TextSource
from topiary.app.ingest.tables import column_names, joining
from topiary.app.ingest.tables.column_names import Pattern
from topiary.app.ingest.tables.joining import Join
from topiary.app.ingest.tables.roles import PARTS
from topiary.app.ingest.tables.values import Columns

TABLES = ("csv", "xlsx", "json", "jsonl", "parquet")  # readers of tables that may describe texts
_TABLE_ENDINGS = {  # the reader for each ending of a table
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".xlsx": "xlsx", ".xlsm": "xlsx", ".json": "json",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".feather": "parquet", ".arrow": "parquet",
}  # fmt: skip
_ABOUT_DATA = re.compile(
    r"(?:read_?me|licen[cs]e|copying|change(?:s|log)|notice|citation|authors|contents|about|classes|labels?(?:_names)?|"
    r"label\.|vocab(?:ulary)?|words|dictionary|stop.?words?)\b.*",
    re.IGNORECASE,
)  # names of texts about the data, which are not documents
_FEW_TEXTS = 2  # at most so many texts next to a table of texts are ignored
_MOST_TABLES = 20  # in a folder with more, none is joined
_EXAMPLES = 3  # file names in a sentence
_SAMPLED_NAMES = 2_000  # names from which fields are proposed


def _make_reader(
    members: texts.TextMembers | None = None,
    joins: Sequence[Join] = (),
    accepts: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Reader:
    """Return a reader of texts that joins the tables and fields of file names describing them.

    Parameters
    ----------
    members : TextMembers or None
        The files of texts; None for all in the path.
    joins : sequence of Join
        Tables whose rows describe the texts.
    accepts : sequence of str
        Options accepted by the readers of these tables.
    notes : sequence of str
        Sentences about tables that are not joined.
    """

    def read_described(path: Path, options: ImportOptions) -> TextSource:
        text_members, copies = (members, []) if members else _list_members(path, options)
        source = texts.read_texts(path, options, text_members)
        source.notes.extend([*copies, *notes])
        files_in = text_members.list_names()
        pattern = None if options.name_fields in (None, NONE) else Pattern(str(options.name_fields))
        if pattern is None and not joins:
            if options.name_fields is None:
                _propose_fields(source, files_in)
            return source
        described = _Described(joins, pattern, options, files_in)
        described.note_joins(source, path)
        joined = replace(source, columns=described.columns)
        return replace(joined, documents=lambda: map(described.make_document, source.documents()))

    (plain,) = texts.READERS
    return replace(plain, accepts=(*plain.accepts, *accepts), read=read_described, joins=bool(joins))


def open_texts(
    path: Path, options: ImportOptions, readers: Mapping[str, Reader], rivals: Sequence[str] = ()
) -> Reader | None:
    """Return a reader of a path's texts and the tables that describe them; None if a table alone is to be read.

    Parameters
    ----------
    path : Path
    options : ImportOptions
    readers : mapping
        The readers of tables, by name.
    rivals : sequence of str
        Names of the readers of tables that could read the path instead.

    Raises
    ------
    IngestError
        If either the texts or a table could be meant, or the table given in the options does not describe the texts.
    """
    if options.metadata in (None, NONE) and not path.is_dir():
        return _make_reader()
    members, copies = _list_members(path, options)
    if options.metadata is not None:
        return _join_given(path, members, options, readers, copies)
    sidecars = companions.find_sidecars(members)
    members_left = members.leave_out(frozenset(sidecars.values()))
    tables = _list_tables(path, members_left, readers)
    joined, notes = [], copies
    for table in tables if len(tables) <= _MOST_TABLES else []:
        try:
            join = _join_rows(table, readers, members.list_names(), options)
        except IngestError as error:
            if table.reader.name in rivals:
                raise
            notes.append(f"{table.path.name} is left out: it {error.cause}")
            continue
        if join is None:
            notes.append(f"{table.path.name} names no file of a text and is left out")
        else:
            joined.append((table, join))
    if rivals and not _are_texts_meant(path, members, options, tables, rivals, dict(joined)):
        return None
    described = [companions.join_sidecars(path, sidecars, readers["jsonl"], options)] if sidecars else []
    return _make_described(path, members_left, joined, notes, described)


def _list_members(path: Path, options: ImportOptions) -> tuple[texts.TextMembers, list[str]]:
    """Return the files of texts, each text once, and notes about texts that are there in several formats."""
    return companions.leave_out_copies(path, texts.list_members(path), options.encoding)


class _Table(NamedTuple):
    """A table among texts, and its reader."""

    path: Path
    reader: Reader


def _join_rows(
    table: _Table, readers: Mapping[str, Reader], names: Sequence[str], options: ImportOptions
) -> Join | None:
    """Join the rows of a table with the texts they describe; return None if it describes none."""
    with joining.copy_rows(table.path, names) as path:
        if path == table.path:
            return joining.join_table(path, table.reader, names, options)
        try:
            join = joining.join_table(path, readers["jsonl"], names, options)
        except IngestError as error:
            raise IngestError(table.path, error.cause) from None
    return None if join is None else replace(join, table=table.path.name)


def _make_described(
    path: Path,
    members: texts.TextMembers,
    joined: Sequence[tuple[_Table, Join]],
    notes: Sequence[str] = (),
    described: Sequence[Join] = (),
) -> Reader:
    paths = [table.path for table, _ in joined if path.is_dir() and table.path.is_relative_to(path)]
    joined_tables = [PurePosixPath(each.relative_to(path).as_posix()) for each in paths]
    accepts = [option for table, _ in joined for option in table.reader.accepts if option != "text_column"]
    if described:
        accepts += ["title_column", "label_column", "split_column"]
    return _make_reader(members.leave_out(joined_tables), [*described, *(join for _, join in joined)], accepts, notes)


def _list_tables(path: Path, members: texts.TextMembers, readers: Mapping[str, Reader]) -> list[_Table]:
    """Return the tables in a folder."""
    kinds = [(name, _TABLE_ENDINGS.get(files.find_suffix(Path(name.name)), "")) for name in members.others]
    # Names that begin with ~$ are lock files of Excel.
    tables = [(name, kind) for name, kind in kinds if kind in readers and not name.name.startswith("~$")]
    return [_Table(path / name, readers[kind]) for name, kind in tables]


def _join_given(
    path: Path, members: texts.TextMembers, options: ImportOptions, readers: Mapping[str, Reader], notes: Sequence[str]
) -> Reader:
    """Return a reader of the texts and of the table given in the options."""
    if options.metadata == NONE:
        return _make_reader(members, notes=notes)
    table = Path(str(options.metadata))
    kind = _TABLE_ENDINGS.get(files.find_suffix(table), "")
    if kind not in readers:
        raise IngestError(table, f"is no table that texts can be joined with; give one of {', '.join(_TABLE_ENDINGS)}")
    names = [name for name in members.list_names() if path / name != table]
    join = _join_rows(_Table(table, readers[kind]), readers, names, options)
    if join is None:
        cause = f"has no column with the names of the files in {path.name}, such as {names[0] if names else 'a.txt'!r}"
        raise IngestError(table, f"{cause}; add one, or leave --metadata out")
    return _make_described(path, members, [(_Table(table, readers[kind]), join)], notes)


def _are_texts_meant(
    path: Path,
    members: texts.TextMembers,
    options: ImportOptions,
    tables: Sequence[_Table],
    rivals: Sequence[str],
    joined: Mapping[_Table, Join],
) -> bool:
    """Return whether a folder of texts and tables is to be read as texts.

    Raises
    ------
    IngestError
        If the tables could be meant as well.
    """
    rival_tables = [table for table in tables if table.reader.name in rivals]
    if not rival_tables:  # they are hidden files
        return True
    contents = f"has {len(members.texts):,} texts and the table {rival_tables[0].path.name}"
    alone = f"--format {rival_tables[0].reader.name} reads the rows of the table as documents"
    for table in rival_tables:
        column = joining.find_text_column(table.path, table.reader, options) if table in joined else ""
        if column:
            cause = f"has {len(members.texts):,} texts and the table {table.path.name}, which has texts of its own"
            both = f"--format text reads the files and joins the table by {joined[table].key!r}"
            raise IngestError(path, f"{cause} in {column!r}: {both}, {alone}")
    if joined:
        return True
    if sum(_ABOUT_DATA.fullmatch(name.name) is None for name in members.texts) <= _FEW_TEXTS:
        return False
    raise IngestError(path, f"{contents}, whose rows name none of these files: --format text reads the files, {alone}")


class _Described:
    """The documents completed with the fields of their file names and the table rows about them."""

    def __init__(
        self, joins: Sequence[Join], pattern: Pattern | None, options: ImportOptions, names: Sequence[str]
    ) -> None:
        self._joins, self._pattern, self._names = joins, pattern, names
        # Whether the folders are the labels.
        self._in_folders = options.label_column is None and any(map(_find_folder_label, names))
        self._split_wins = options.split_column is not None
        used_roles = ("title", "split") if self._in_folders else ("title", "label", "split")
        roles = {join.roles[role]: role for join in joins for role in used_roles if role in join.roles}
        roles |= {join.key: "id" for join in joins}
        named = () if pattern is None else pattern.fields
        name_roles = {name: name for name in named if name in column_names.NAME_ROLES}
        self.columns = Columns(roles | name_roles)

    def make_document(self, document: TextDocument) -> TextDocument:
        """Return a document completed with the fields of its file name and the table rows about it."""
        file = document.columns["file"]
        label, title, part, columns = document.label, "", document.part, dict[str, str]()
        values: dict[str, str] = {}
        for join in self._joins:
            facts = join.facts.get(file)
            if facts is None:
                continue
            values[join.key] = file
            columns = {**facts.columns, **columns}
            if facts.title:
                values[join.roles["title"]] = facts.title
                title = title or facts.title
            part = facts.part if facts.part is not None and (part is None or self._split_wins) else part
            if facts.label is not None and "label" in join.roles:
                values[join.roles["label"]] = facts.label
                if self._in_folders:
                    columns[join.roles["label"]] = facts.label
                else:
                    label = facts.label
        named = self._read_name_fields(file)
        label, title = named.get(column_names.LABEL_FIELD, label), named.get(column_names.TITLE_FIELD, title)
        part = PARTS[named[column_names.SPLIT_FIELD].lower()] if column_names.SPLIT_FIELD in named else part
        columns |= {name: value for name, value in named.items() if name not in column_names.NAME_ROLES}
        self.columns.see(values | columns | named)
        columns = {**document.columns, **columns}
        return document._replace(label=label, title=title or document.title, part=part, columns=columns)

    def _read_name_fields(self, file: str) -> dict[str, str]:
        """Return the fields in the name of a file; none if it does not fit the pattern."""
        if self._pattern is None:
            return {}
        fields = self._pattern.match_name(column_names.strip_kind(file, KINDS)) or {}
        return fields if fields.get(column_names.SPLIT_FIELD, "train").lower() in PARTS else {}

    def note_joins(self, source: TextSource, path: Path) -> None:
        """Add sentences to a source about the tables and name fields that describe its documents.

        Raises
        ------
        IngestError
            If no file name fits the pattern.
        """
        names = self._names
        descriptions = [join.describe(names, without=("label",) if self._in_folders else ()) for join in self._joins]
        if descriptions:
            source.understood["metadata"] = "; ".join(descriptions)
        for join in self._joins:
            source.notes.extend(join.list_notes(names))
            if self._in_folders and "label" in join.roles:
                change = f"--label-column '{join.roles['label']}' takes those of {join.table}"
                source.notes.append(f"the labels are the folders of the texts; {change}")
        if self._pattern is None:
            return
        unmatched = [file for file in names if not self._read_name_fields(file)]
        if len(unmatched) == len(names):
            cause = f"has no file whose name fits --name-fields '{self._pattern.text}'"
            raise IngestError(path, f"{cause}; the first is {names[0]!r}, so give another pattern, or none")
        n_matched = f"{len(names) - len(unmatched):,} of {len(names):,} names fit"
        source.understood["file names"] = f"{self._pattern.text}: {n_matched}"
        if unmatched:
            examples = ", ".join(map(repr, unmatched[:_EXAMPLES])) + (" …" if len(unmatched) > _EXAMPLES else "")
            subject = "1 name does" if len(unmatched) == 1 else f"{len(unmatched):,} names do"
            verb = "gives" if len(unmatched) == 1 else "give"
            source.notes.append(
                f"{subject} not fit --name-fields '{self._pattern.text}' and {verb} no fields: {examples}"
            )


def _find_folder_label(file: str) -> str:
    """Return the folders of a file without a leading train or test, as its label."""
    folders = file.split("/")[:-1]
    return "/".join(folders[1:] if folders and folders[0].lower() in PARTS else folders)


def _propose_fields(source: TextSource, names: Sequence[str]) -> None:
    """Propose fields that could be taken from the names of files, if these are alike."""
    sample = names[:: max(1, len(names) // _SAMPLED_NAMES)]
    names = [column_names.strip_kind(PurePosixPath(file).name, KINDS) for file in sample]
    pattern = column_names.propose_pattern(names)
    if pattern:
        source.proposed["name_fields"] = pattern
        first = column_names.show_example(pattern, names, 1)[0]
        example = ", ".join(f"{name} {value}" for name, value in first.items())
        explanation = f"makes columns of the names of the files (of the first: {example})"
        source.notes.append(f"--name-fields '{pattern}' {explanation}")
