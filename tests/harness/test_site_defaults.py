"""config.toml of the user and of the machine gives defaults of options."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.command_line.config import (
    KEYS,
    SITE_FILE,
    SITE_VARIABLE,
    ConfigError,
    SiteDefault,
    list_config_files,
    read_site_defaults,
)
from checker.trust_commands.cli import review
from harness.cli import main
from harness.doctor import examine
from harness.power.source import STATE_VARIABLE
from harness.run.outcome import Outcome

WriteConfig = Callable[[str, str], tuple[Path, Path]]
RUN = ("run", "resnet50-train", "--smoke", "--simulate", "h200", "--dry-run")


@pytest.fixture
def write_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteConfig:
    """Writes the files of the user and of the machine, and returns their paths."""
    user_file = tmp_path / "home" / "wattmark" / "config.toml"
    site_file = tmp_path / "site" / "config.toml"
    for file in (user_file, site_file):
        file.parent.mkdir(parents=True)
        file.touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user_file.parents[1]))
    monkeypatch.setenv(SITE_VARIABLE, str(site_file))
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    monkeypatch.delenv("WATTMARK_METERS", raising=False)
    monkeypatch.chdir(tmp_path)

    def write(user: str, site: str) -> tuple[Path, Path]:
        user_file.write_text(user)
        site_file.write_text(site)
        return user_file, site_file

    return write


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The arguments with which commands were called, which then did nothing."""
    recorded: list[tuple[Any, ...]] = []

    def record(*arguments: Any) -> Outcome:
        recorded.append(arguments)
        return Outcome(True)

    for name in ("harness.run.command.check", "harness.commands.sign.sign"):
        monkeypatch.setattr(name, record)
    monkeypatch.setattr("checker.trust_commands.signing.review", record)
    monkeypatch.setattr("checker.trust_commands.cli.find_submissions", Path)
    return recorded


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_file_of_the_user_comes_before_that_of_the_machine(write_config: WriteConfig) -> None:
    user_file, site_file = write_config(
        'out = "mine"', 'out = "/scratch"\nprincipal = "center@example.org"'
    )
    defaults = read_site_defaults()
    assert defaults.out == SiteDefault("mine", user_file)
    assert defaults.principal == SiteDefault("center@example.org", site_file)
    assert (defaults.system, defaults.meters, defaults.key) == (None, None, None)


def test_paths_begin_at_the_file_and_results_where_the_command_runs(
    write_config: WriteConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = 'system = "h200.toml"\nmeters = "/etc/m.toml"\nkey = "~/.ssh/id"\nout = "results/h200"'
    _, site_file = write_config("", text)
    texts = {
        name: default["text"] for name, default in asdict(read_site_defaults()).items() if default
    }
    assert texts == {
        "system": str(site_file.parent / "h200.toml"),
        "meters": "/etc/m.toml",
        "key": str(tmp_path / ".ssh" / "id"),
        "out": "results/h200",
    }


def test_files_are_in_etc_and_in_the_directory_of_xdg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SITE_VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    in_home = tmp_path / ".config" / "wattmark" / "config.toml"
    for value, user_file in (
        (str(tmp_path / "xdg"), tmp_path / "xdg" / "wattmark" / "config.toml"),
        ("", in_home),
        ("relative/path", in_home),  # ignored, by the XDG specification
    ):
        monkeypatch.setenv("XDG_CONFIG_HOME", value)
        assert list_config_files() == (SITE_FILE, user_file)
    assert Path("/etc/wattmark/config.toml") == SITE_FILE
    with monkeypatch.context() as without_home:
        without_home.setattr("pwd.getpwuid", lambda uid: {}[uid])
        without_home.delenv("HOME")
        without_home.delenv("XDG_CONFIG_HOME")
        assert set(asdict(read_site_defaults()).values()) == {None}
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null")
    assert set(asdict(read_site_defaults()).values()) == {None}


def test_file_that_the_variable_names_must_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt path in an environment module would hide the defaults from all users."""
    monkeypatch.setenv(SITE_VARIABLE, str(tmp_path / "none.toml"))
    with pytest.raises(ConfigError, match=r"WATTMARK_SITE_CONFIG=.*none.toml: there is no such"):
        read_site_defaults()
    result = invoke("doctor")
    assert result.exit_code == 1
    assert "correct or unset the variable" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'sytem = "a"',
            "unknown key 'sytem'; the keys are system, meters, principal, key, out; correct",
        ),
        ("[run]\nout = 'a'", "unknown key 'run'; the keys are"),
        ("out = 3", "out: found 3, expected text in quotes; correct"),
        ('system = "a\\u0000"', "system: found text with unprintable characters, expected text in"),
        pytest.param("out = " + "[" * 5000, "cannot be read as TOML: ", id="nested"),
        ("out = true", "out: found a truth value, expected text in quotes; correct"),
        ("out = ['a']", "out: found a list, expected text in quotes; correct"),
        ("[out]\na = 1", "out: found a table, expected text in quotes; correct"),
        ("key = ''", "key: found empty text, expected text in quotes; correct"),
        (
            "out = 'a'\nkey =\n",
            "cannot be read as TOML: Invalid value (at line 2, column 6); mend it",
        ),
    ],
)
def test_mistake_in_a_file_is_told_with_file_and_place(
    write_config: WriteConfig, text: str, message: str
) -> None:
    for user, site in ((text, ""), ("", text)):
        user_file, site_file = write_config(user, site)
        result = invoke(*RUN)
        assert result.exit_code == 2
        error = " ".join(result.stderr.split())
        assert f"Error: {user_file if user else site_file}: {message}" in error
        (check,) = [check for check in examine("nobody") if check.name == "config.toml"]
        assert check.ok is False and message in check.advice
        # These need no defaults.
        assert invoke("restore").exit_code == 0
        assert invoke("run", "--help").exit_code == 0


def test_file_that_cannot_be_read_is_told(write_config: WriteConfig) -> None:
    user_file, _ = write_config("", "")
    user_file.write_bytes(b"out = '\xff'")
    assert f"Error: {user_file}: cannot be read as TOML: 'utf-8' codec" in invoke(*RUN).stderr
    user_file.unlink()
    user_file.mkdir()
    assert f"Error: {user_file}: cannot be read (Is a directory); mend" in invoke(*RUN).stderr


def test_missing_file_that_a_default_names_is_told(write_config: WriteConfig) -> None:
    _, site_file = write_config("", 'system = "h200.toml"')
    result = invoke(*RUN)
    assert result.exit_code == 2
    missing = site_file.parent / "h200.toml"
    assert f"Error: {site_file}: system: there is no file {missing}; correct" in result.stderr


def test_run_takes_defaults_and_options_come_first(
    write_config: WriteConfig, calls: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    write_config(f'out = "{tmp_path / "mine"}"', 'system = "h200.toml"\nout = "/scratch"')
    system = tmp_path / "site" / "h200.toml"
    system.touch()
    run = ("run", "resnet50-train", "--dry-run")
    assert invoke(*run).exit_code == 0
    assert invoke(*run, "--out", "here", "--system", "other.toml").exit_code == 0
    assert [(request.system, out) for request, out in calls] == [
        (system, tmp_path / "mine"),
        (Path("other.toml"), Path("here")),
    ]


def test_simulated_boards_are_not_described_as_the_system_of_the_site(
    write_config: WriteConfig, calls: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    write_config("", 'system = "h200.toml"')
    (tmp_path / "site" / "h200.toml").touch()
    run = ("run", "resnet50-train", "--smoke", "--dry-run")
    for options in (
        ("--simulate", "h200"),
        ("--meter", "simulated:h200"),
        ("--simulate", "h200", "--system", "other.toml"),
    ):
        assert invoke(*run, *options).exit_code == 0
    assert [request.system for request, _ in calls] == [None, None, Path("other.toml")]


def test_signatures_take_defaults_and_options_come_first(
    write_config: WriteConfig, calls: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    key = tmp_path / "id_ed25519"
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    write_config(f'key = "{key}"', 'principal = "center@example.org"')
    assert f"key: there is no file {key}" in invoke("sign", bundle).stderr
    key.touch()
    assert invoke("sign", bundle).exit_code == 0
    assert invoke("sign", bundle, "--principal", "other@example.org").exit_code == 0
    assert CliRunner().invoke(review, [str(bundle), "--verdict", "accept"]).exit_code == 0
    assert [call[:3] for call in calls] == [
        (bundle, key, "center@example.org"),
        (bundle, key, "other@example.org"),
        (bundle, key, "center@example.org"),
    ]


def test_without_defaults_principal_and_key_are_required(
    write_config: WriteConfig, tmp_path: Path
) -> None:
    result = invoke("sign", tmp_path)
    assert result.exit_code == 2 and "Missing option '--key'" in result.stderr


def test_defaults_are_no_options_beside_resume(write_config: WriteConfig, tmp_path: Path) -> None:
    write_config('out = "mine"', "")
    for command in ("run", "sweep"):
        result = invoke(command, "--resume", tmp_path / "none")
        assert "leave out" not in result.output and "none" in result.output


def test_batch_script_names_the_defaults_of_the_machine_that_wrote_it(
    write_config: WriteConfig, tmp_path: Path
) -> None:
    write_config("", 'system = "h200.toml"')
    system = tmp_path / "site" / "h200.toml"
    system.touch()
    result = invoke("sweep", "resnet50-train", "--simulate", "h200", "--slurm", "--caps", "400,500")
    assert f"--system {system}" in result.output


def test_doctor_shows_each_value_and_where_it_comes_from(
    write_config: WriteConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file, site_file = write_config(
        'out = "mine"', 'system = "h200.toml"\nprincipal = "center@example.org"'
    )

    def list_results() -> dict[str, tuple[bool | None, str]]:
        names = {"config.toml", *(f"--{key}" for key in KEYS)}
        return {c.name: (c.ok, c.result) for c in examine("nobody") if c.name in names}

    system = tmp_path / "site" / "h200.toml"
    results = list_results()
    assert results["--system"] == (False, f"{system} is missing, from {site_file}")
    system.touch()
    user_directory = user_file.parent
    assert list_results() == {
        "config.toml": (True, f"{user_file} (read), {site_file} (read)"),
        "--system": (True, f"{system}, from {site_file}"),
        "--meters": (True, f"{user_directory / 'meters.toml'}, built in"),
        "--principal": (True, f"center@example.org, from {site_file}"),
        "--key": (True, "not set"),
        "--out": (True, f"mine, from {user_file}"),
    }
    (tmp_path / "mine").touch()
    assert list_results()["--out"] == (False, f"mine takes no results, from {user_file}")
    monkeypatch.setenv("WATTMARK_METERS", str(system))
    user_file.unlink()
    results = list_results()
    assert results["--meters"] == (True, f"{system}, from WATTMARK_METERS")
    assert results["--out"] == (True, "results, built in")
    assert results["config.toml"] == (True, f"{user_file} (none), {site_file} (read)")
