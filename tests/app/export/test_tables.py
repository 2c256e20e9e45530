"""Tables as files: the same numbers in every format and in pandas, and texts that no spreadsheet runs."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from topiary.app.analysis.errors import ReadError
from topiary.app.export import tables
from topiary.app.export.tables import ExportTable, write_table

FRAMES = (
    pd.DataFrame({"topic": ["L1:1", "=1+1"], "share": [0.25, 1 / 3], "n": [1, 2]}),
    pd.DataFrame({"topic": ["None", "nan"], "share": [float("nan"), 1e-9], "n": [3, 4]}),
)
READERS = {
    "csv": lambda path: pd.read_csv(path, keep_default_na=False, na_values={"share": [""]}),
    "xlsx": lambda path: pd.read_excel(path, keep_default_na=False, na_values={"share": [""]}),
    "parquet": pd.read_parquet,
}


@pytest.mark.parametrize("form", READERS)
def test_every_format_has_the_numbers_of_the_frame(tmp_path, form):
    rows = []
    path = write_table(ExportTable("numbers", FRAMES), tmp_path / f"table.{form}", rows.append)
    expected = ExportTable("numbers", FRAMES).join()
    if form != "parquet":
        expected.loc[1, "topic"] = "'=1+1"
    assert_frame_equal(READERS[form](path), expected, check_exact=True)
    assert rows == [2, 4]


def test_a_csv_file_is_what_pandas_writes(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "share": np.round(rng.random(300), 2).astype(np.float32),
            "other": rng.choice([0.0, 0.1, 1 / 3, 1e-9, 12345678.9, np.nan, np.inf, -2.5], 300),
            "low": rng.random(300),
            "n": rng.integers(0, 9, 300),
            "beyond": rng.random(300) < 0.5,
            "text": rng.choice(['a, "b"', "line\nline", "", "ÄÖ"], 300),
            "group": rng.choice(np.array(["a", None], object), 300),
        }
    )
    path = write_table(ExportTable("numbers", (frame, frame[:0], frame[7:9])), tmp_path / "table.csv")
    expected = pd.concat([frame, frame[7:9]]).to_csv(index=False, lineterminator="\n")
    assert path.read_text(encoding="utf-8") == expected


def test_what_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(ReadError, match=r"must end in one of \.csv, \.xlsx, \.parquet"):
        write_table(ExportTable("numbers", FRAMES), tmp_path / "table.doc")
    monkeypatch.setattr(tables, "MOST_CELLS", 9)
    with pytest.raises(ReadError, match="more than 3 rows, which is too much for Excel"):
        write_table(ExportTable("numbers", FRAMES), tmp_path / "table.xlsx")
