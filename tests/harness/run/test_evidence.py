from harness.run.evidence import dates


def test_a_run_lasts_from_its_first_node_to_its_last():
    head = {"started_at": "2026-11-20T22:00:58Z", "ended_at": "2026-11-20T22:01:12Z"}
    other = {"started_at": "2026-11-20T22:00:56Z", "ended_at": "2026-11-20T22:01:11Z"}
    assert dates([head, other]) == {
        "started_at": "2026-11-20T22:00:56Z",
        "ended_at": "2026-11-20T22:01:12Z",
    }
