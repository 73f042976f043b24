"""The evidence of other programs for page and data set: grades, provenance and refusals."""

import shutil
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.audit_samples import write_aiperf, write_inferencex, write_jpwr, write_zeus

from checker.audit.audit import audit
from reporting.cli import main
from reporting.foreign.declaration import ForeignError, find_declaration
from reporting.foreign.evidence import Foreign, collect_foreign
from rules.audit.stated import compute_deviation, find_recomputed_energy_j, find_stated_energy_j

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "audit"
PUBLISHED = ROOT / "submissions" / "published" / "mayr2026.json"


def read_energies(foreign: Foreign) -> list[tuple[str, float | None, float | None]]:
    return [
        (item.row.source, find_stated_energy_j(item.row), find_recomputed_energy_j(item.row))
        for item in foreign.rows
    ]


def test_rows_have_the_grades_of_the_audit_and_hashes_of_their_files() -> None:
    foreign = collect_foreign([EXAMPLES])
    expected = {(str(i.path / i.row.place), i.grade) for i in audit([EXAMPLES]).rows}
    parent = EXAMPLES.parent
    assert {(str(parent / item.place), item.grade) for item in foreign.rows} == expected
    for item in foreign.rows:
        assert item.sha256 == sha256((parent / item.file).read_bytes()).hexdigest()
        directory = (parent / item.file).parent
        for name, digest in item.hashes:
            assert digest == sha256((directory / name).read_bytes()).hexdigest()
    assert not foreign.failures


def test_stated_energies_stand_beside_recomputed_ones() -> None:
    assert read_energies(collect_foreign([EXAMPLES])) == [
        ("aiperf", pytest.approx(8320), pytest.approx(8000)),
        ("mlperf-inference", None, pytest.approx(30_000)),
        ("zeus", pytest.approx(1100), None),
    ]


def test_stated_energies_of_boards_are_added(tmp_path: Path) -> None:
    write_jpwr(tmp_path / "jpwr")
    write_inferencex(tmp_path / "inferencex")
    rows = {item.row.source: item.row for item in collect_foreign([tmp_path]).rows}
    for source in ("jpwr", "inferencex"):
        stated_j = find_stated_energy_j(rows[source])
        assert stated_j == pytest.approx(find_recomputed_energy_j(rows[source]), rel=0.01)
        assert compute_deviation(rows[source]) == pytest.approx(0, abs=0.01)


def test_directories_in_each_other_give_each_row_once() -> None:
    both = collect_foreign([EXAMPLES / "aiperf", EXAMPLES])
    assert len(both.rows) == len(collect_foreign([EXAMPLES]).rows)


def test_nearest_declaration_counts(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    write_aiperf(evidence / "a")
    write_zeus(evidence / "zeus.csv")
    (tmp_path / "source.toml").write_text('url = "https://example.org/above"\n')
    assert {item.declaration.url for item in collect_foreign([evidence]).rows} == {None}
    (evidence / "source.toml").write_text('url = "https://example.org/all"\n')
    (evidence / "a" / "source.toml").write_text('licence = "MIT"\nretrieved = 2026-08-20\n')
    found = {item.row.source: item.declaration for item in collect_foreign([evidence]).rows}
    assert found["zeus"].url == "https://example.org/all"
    assert (found["aiperf"].url, found["aiperf"].licence) == (None, "MIT")
    assert found["aiperf"].retrieved == date(2026, 8, 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('uri = "https://example.org"', "source.toml: uri is unknown; known are url, retrieved"),
        (
            'url = "javascript:alert(1)"',
            "source.toml: url is 'javascript:alert(1)'; expected a web",
        ),
        ('retrieved = "2026-08-20"', "source.toml: retrieved is '2026-08-20'; expected a day"),
        ("licence = 3", "source.toml: licence is 3; expected a text"),
        ("url = ", "source.toml: cannot be read as TOML: "),
    ],
)
def test_bad_declaration_is_refused_with_file_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    write_zeus(tmp_path / "zeus.csv")
    (tmp_path / "source.toml").write_text(text)
    with pytest.raises(ForeignError) as caught:
        find_declaration(tmp_path, tmp_path)
    assert str(caught.value).startswith(str(tmp_path)) and message in str(caught.value)
    result = CliRunner().invoke(
        main, [str(PUBLISHED), "--audit", str(tmp_path), "-o", str(tmp_path / "page.html")]
    )
    assert result.exit_code == 1 and message in result.output
    assert not (tmp_path / "page.html").exists()


def test_directory_without_evidence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n")
    result = CliRunner().invoke(
        main, [str(PUBLISHED), "--audit", str(tmp_path), "-o", str(tmp_path / "page.html")]
    )
    assert result.exit_code == 1
    assert f"{tmp_path}: holds no evidence of a known format" in result.output
    assert not (tmp_path / "page.html").exists()


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    evidence = shutil.copytree(EXAMPLES, tmp_path / "evidence")
    (evidence / "damaged.json").write_text("{")
    foreign = collect_foreign([evidence])
    assert len(foreign.rows) == 3
    assert [failure.partition(":")[0] for failure in foreign.failures] == ["evidence/damaged.json"]
