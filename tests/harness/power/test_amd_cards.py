"""Cards of two dies, which have one power reading (MI250X)."""

from pathlib import Path

import pytest
from support.bundles import make_evidence
from support.fakes.fake_amdsmi import FakeAmdSmi, FakeGpu, write_kfd_nodes

from harness.errors import MachineError, MeterError
from harness.power.source import STATE_VARIABLE
from harness.power.sources import amd
from harness.power.sources.amd import AmdSource
from harness.run import preflight
from rules.boards import find_board
from rules.bundle import Bundle
from rules.checks.power.readings_copied import RULE as COPIED

CARD_W, CARD_CAP_UW = 480, 500_000_000
DIES = [f"GPU-{n:016x}" for n in (0xA1, 0xA2, 0xB1, 0xB2)]


def make_die(number: int, serial: str, has_power: bool) -> FakeGpu:
    die = FakeGpu(int(DIES[number][4:], 16), number, 0xC1 + number)
    die.power = {
        "current_socket_power": "N/A",
        "average_socket_power": CARD_W if has_power else "N/A",
    }
    die.asic = {"market_name": "AMD Instinct MI250X", "asic_serial": serial}
    die.partition = "N/A"
    cap_uw = CARD_CAP_UW if has_power else 0
    die.caps |= {"power_cap": cap_uw, "default_power_cap": cap_uw, "max_power_cap": cap_uw}
    if not has_power:
        die.energy = {"energy_accumulator": 0, "counter_resolution": 15.3}
    return die


@pytest.fixture(params=["a serial for each card", "a serial for each die", "no serial"])
def cards(request: pytest.FixtureRequest) -> list[FakeGpu]:
    serials = {"a serial for each card": "1122", "a serial for each die": "1234"}
    letters = serials.get(request.param, "    ")
    return [make_die(n, letters[n].strip(), n % 2 == 0) for n in range(4)]


def open_cards(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dies: list[FakeGpu], visible: str | None
) -> AmdSource:
    monkeypatch.setattr(amd, "KFD_NODES", write_kfd_nodes(tmp_path / "nodes", *dies))
    return AmdSource(
        FakeAmdSmi(*dies), {} if visible is None else {"ROCR_VISIBLE_DEVICES": visible}
    )


def test_the_dies_of_a_card_have_half_of_its_reading_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cards: list[FakeGpu]
) -> None:
    source = open_cards(monkeypatch, tmp_path, cards, None)
    devices = source.devices()
    assert [device.uuid for device in devices] == DIES
    assert list(preflight.find_objections(source, devices)) == []
    readings = [source.read(uuid) for uuid in DIES]
    assert [reading.power_avg_mw for reading in readings] == [1000 * CARD_W / 2] * 4
    assert [reading.cap_mw for reading in readings] == [250_000] * 4
    first_mj, second_mj = readings[0].energy_mj, readings[1].energy_mj
    assert first_mj and first_mj == second_mj
    assert devices[1].max_power_w == 250
    source.set_cap(DIES[1], 200_000)
    assert [die.caps["power_cap"] for die in cards] == [400_000_000, 0, CARD_CAP_UW, 0]
    assert source.readback(DIES[0], frozenset()).enforced_mw == 200_000


@pytest.mark.parametrize(("visible", "other"), [("0", 1), ("1", 0), ("2,3,0", 1)])
def test_one_die_of_a_card_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cards: list[FakeGpu], visible: str, other: int
) -> None:
    source = open_cards(monkeypatch, tmp_path, cards, visible)
    (objection,) = preflight.find_objections(source, source.devices())
    assert f"the other one ({DIES[other]}) is not visible here" in objection
    with pytest.raises(MeterError, match=f"{DIES[other]}: AMD SMI gives no access"):
        source.set_cap(DIES[other], 200_000)


def test_a_die_whose_other_one_the_container_forbids_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = open_cards(monkeypatch, tmp_path, [make_die(0, "1", True)], None)
    (objection,) = preflight.find_objections(source, source.devices())
    assert "the other one (no access) is not visible here" in objection
    assert source.read(DIES[0]).power_avg_mw == 1000 * CARD_W


def test_a_run_on_one_of_two_visible_dies_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cards: list[FakeGpu]
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    source = open_cards(monkeypatch, tmp_path, cards, None)
    monkeypatch.setattr(preflight, "open_source", lambda meter: source)
    with pytest.raises(MachineError, match=f"{DIES[0]} and {DIES[1]} are dies of one card"):
        preflight.inspect_machine("amd", 1, None)
    assert len(preflight.inspect_machine("amd", 2, None).devices) == 2


def test_gpus_with_a_reading_each_are_boards_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dies = [make_die(n, "1", True) for n in range(2)]
    source = open_cards(monkeypatch, tmp_path, dies, "0")
    assert source.find_sharers(DIES[0]) == []
    assert source.read(DIES[0]).power_avg_mw == 1000 * CARD_W


@pytest.mark.parametrize(("name", "is_copy"), [("AMD Instinct MI250X", False), ("MI300X", True)])
def test_two_dies_may_have_the_same_readings(name: str, is_copy: bool) -> None:
    evidence = make_evidence()
    for accelerator in evidence.system["nodes"][0]["accelerators"]:
        accelerator["name"] = name
    samples = evidence.samples
    first, second = (samples["accelerator"] == uuid for uuid in samples["accelerator"].unique())
    samples.loc[second, "power_mw"] = samples.loc[first, "power_mw"].to_numpy()[: second.sum()]
    bundle = Bundle(Path("center/system/run"), (), evidence.evidence())
    assert bool(list(COPIED.judge(bundle))) is is_copy


def test_a_die_has_half_of_the_card() -> None:
    die, card = find_board("AMD Instinct MI250X"), find_board("MI250X")
    assert die is not None and card is not None and (die.dies, card.dies) == (2, 1)
    assert die.max_power_w == 280 and die.memory_gib == card.memory_gib / 2
    assert die.highest_peak_tflops("bf16") == 191.5
