"""meters.toml: only its owner may read it, secrets are given by reference, and messages name file
and key without any value."""

import os
from pathlib import Path

import pytest

from checker.command_line.config import SITE_VARIABLE
from harness.errors import MeterError
from harness.power.meter_access import find_access_file, read_access

TABLE = """
[pdu-a]
kind = "redfish"
host = "pdu-7.example"
port = 1161
model = "raritan-px"
community_env = "PDU_COMMUNITY"
feeds = { left = "1.8", right = 9 }
"""


def write(directory: Path, text: str, mode: int = 0o600) -> Path:
    path = directory / "meters.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_table_says_where_the_declared_feeds_are(tmp_path, monkeypatch):
    monkeypatch.setenv("PDU_COMMUNITY", "s3cret")
    access = read_access(write(tmp_path, TABLE), "pdu-a", "redfish", ["right"])
    assert (access.host, access.port, access.feeds) == ("pdu-7.example", 1161, {"right": "9"})
    assert access.options == {"model": "raritan-px"}
    assert access.secret("community") == "s3cret"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o700])
def test_a_file_that_others_may_read_is_refused(tmp_path, mode):
    with pytest.raises(MeterError, match=rf"has the mode 0{mode:o}.*chmod 600"):
        read_access(write(tmp_path, TABLE, mode), "pdu-a", "redfish", ["left"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_refused(tmp_path):
    path = write(tmp_path, TABLE)
    os.chown(path, 12345, 12345)
    with pytest.raises(MeterError, match="belongs to another user"):
        read_access(path, "pdu-a", "redfish", ["left"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no table [pdu-a]"),
        ("[pdu-a", "cannot be read as TOML (at end of document)"),
        ("pdu-a = 1", "pdu-a must be a table"),
        (TABLE.replace('kind = "redfish"', ""), "[pdu-a] kind: found nothing"),
        (
            TABLE.replace('"redfish"', '"ipmi"'),
            "has the kind 'ipmi', and system.toml has 'redfish'",
        ),
        (TABLE.replace("1161", '"x"'), "[pdu-a] port: found a str, expected a number of 1"),
        (TABLE.replace("1161", "0"), "[pdu-a] port: found a int, expected a number of 1 to 65535"),
        (TABLE.replace("left =", "middle ="), "[pdu-a] feeds lacks left"),
        (TABLE.replace('"1.8"', "[1]"), "[pdu-a] feeds left: found a list"),
        (TABLE.replace('community_env = "', 'community = "'), "secrets are given by reference"),
    ],
)
def test_a_table_with_a_mistake_names_file_and_key_and_no_value(tmp_path, text, says):
    path = write(tmp_path, text)
    with pytest.raises(MeterError) as caught:
        read_access(path, "pdu-a", "redfish", ["left"])
    assert str(path) in str(caught.value) and says in str(caught.value)
    assert "pdu-7" not in str(caught.value) and "PDU_COMMUNITY" not in str(caught.value)


def test_a_missing_file_says_where_one_is_expected(tmp_path):
    with pytest.raises(MeterError, match=r"none.toml: no such file; write it .*--meters"):
        read_access(tmp_path / "none.toml", "pdu-a", "redfish", ["left"])


def test_a_meter_without_an_address_needs_no_file(tmp_path):
    access = read_access(tmp_path / "none.toml", "node", "simulated", ["psu-1"])
    assert access.feeds == {"psu-1": "psu-1"} and access.host == ""


def test_option_variable_site_default_and_home_come_in_this_order(tmp_path, monkeypatch):
    monkeypatch.delenv("WATTMARK_METERS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert find_access_file(None) == tmp_path / "wattmark" / "meters.toml"
    (tmp_path / "config.toml").write_text('meters = "site.toml"')
    monkeypatch.setenv(SITE_VARIABLE, str(tmp_path / "config.toml"))
    assert find_access_file(None) == tmp_path / "site.toml"
    monkeypatch.setenv("WATTMARK_METERS", str(tmp_path / "variable.toml"))
    assert find_access_file(None) == tmp_path / "variable.toml"
    assert find_access_file(tmp_path / "option.toml") == tmp_path / "option.toml"
