"""The forging strategies of docs/forensics.md: what each alters, of which run, and who could see
it."""

from collections.abc import Sequence
from dataclasses import dataclass

from forgeries import claims, copies
from forgeries.claims import Claim
from forgeries.synthesis import synthesize

RESNET, RESNET_OTHERS = "d83c3c", ("648e25", "85582f")
SERVING, SERVING_OTHERS = "8e3adf", ("b27ead",)


@dataclass(frozen=True)
class Strategy:
    """One way to forge a bundle from an honest run."""

    title: str
    forge: Claim
    base: str = RESNET
    """The honest run, by the end of its name."""
    others: tuple[str, ...] = RESNET_OTHERS
    """Runs of the setting that the forged bundle claims, each of another center."""
    honest: str = ""
    """The run whose figures are the honest ones of the claim; the base by default."""
    why_unseen: str = ""
    """Why no rule can tell it from an honest run, if none warns."""


UNSEEN_ITEMS = (
    "Newer software can gain as much, and no fact in the bundle depends on the number of items. "
    "X115 reports it beside one run of the setting with the same batch size."
)
UNSEEN_HIGH_CLOCK = (
    "A board that its cap does not limit has such readings, if the software does less work per "
    "cycle. X115 reports it beside one run of the setting with the same batch size."
)
UNSEEN_CLOCK = (
    "Work, clock and time agree with each other, and boards differ by 4 %. Only a reproduction "
    "shows it."
)
UNSEEN_SMALL_STEPS = (
    "Each part is smaller than the difference between boards. Only a reproduction shows it."
)
UNSEEN_CAP = (
    "A lower cap saves as much on an honest board, and no run at that cap is known. A round with "
    "runs at that cap (X114, X115) or a sweep of the same board (X101) shows it."
)

UNSEEN_CEILING = (
    "An open run of code of its own may have inputs with many zeros, whose clock a ceiling holds "
    "below the cap. It is compared with the best variant of all, of which it stays within 10 %."
)

STRATEGIES: Sequence[Strategy] = (
    Strategy("readings 1 % lower", claims.scale_readings(0.99)),
    Strategy("readings 3 % lower", claims.scale_readings(0.97)),
    Strategy("readings 5 % lower", claims.scale_readings(0.95)),
    Strategy("readings 10 % lower", claims.scale_readings(0.90)),
    Strategy("readings 15 % lower", claims.scale_readings(0.85)),
    Strategy("readings 7 % lower, off the sensor's steps", claims.scale_readings(0.93, False)),
    Strategy("readings halved", claims.scale_readings(0.5, False)),
    Strategy("25 W less in all readings", claims.subtract_power(25.0)),
    Strategy("125 W less in all readings", claims.subtract_power(125.0)),
    Strategy(
        "readings 5 % lower, slowdown reason removed from 2 % of the samples",
        claims.chain(claims.scale_readings(0.95), claims.set_slowdown(0.0, 50)),
    ),
    Strategy(
        "readings 5 % lower, no slowdown reason",
        claims.chain(claims.scale_readings(0.95), claims.set_slowdown(0.0)),
    ),
    Strategy(
        "readings 5 % lower, no slowdown reason, clocks at the highest",
        claims.chain(
            claims.scale_readings(0.95),
            claims.set_slowdown(0.0),
            claims.raise_clock(1.4, claims.BOOST_MHZ),
        ),
        why_unseen=UNSEEN_HIGH_CLOCK,
    ),
    Strategy(
        "readings halved, no slowdown reason",
        claims.chain(claims.scale_readings(0.5, False), claims.set_slowdown(0.0)),
    ),
    Strategy(
        "readings halved, negative slowdown reason",
        claims.chain(claims.scale_readings(0.5, False), claims.set_slowdown(-4.0)),
    ),
    Strategy(
        "readings halved, unknown slowdown reason",
        claims.chain(claims.scale_readings(0.5, False), claims.set_slowdown(float(0x1000))),
    ),
    Strategy("counter 0.8 % lower", claims.scale_counter(0.992)),
    Strategy("counter 5 % lower", claims.scale_counter(0.95)),
    Strategy("counter and readings above 740 W left out", claims.leave_out_high_readings),
    Strategy(
        "run at 700 W as one at 400 W, clocks a quarter lower",
        claims.claim_cap(400.0, 0.75),
    ),
    Strategy(
        "run at 700 W as one at 660 W, clocks 3 % lower",
        claims.claim_cap(660.0, 0.97),
        why_unseen=UNSEEN_CAP,
    ),
    Strategy("2 % more items", claims.multiply_items(1.02)),
    Strategy("6 % more items", claims.multiply_items(1.06), why_unseen=UNSEEN_ITEMS),
    Strategy("twice the items", claims.multiply_items(2.0)),
    Strategy(
        "twice the items, as an open run",
        claims.chain(claims.multiply_items(2.0), claims.claim_open_standing),
    ),
    Strategy(
        "twice the items, as an A30",
        claims.chain(claims.multiply_items(2.0), claims.claim_board("NVIDIA A30")),
    ),
    Strategy("five times the items", claims.multiply_items(5.0)),
    Strategy("5 % more items than the batch size gives", claims.multiply_items(1.05, False)),
    Strategy(
        "2 % more items, readings 3 % lower",
        claims.chain(claims.multiply_items(1.02), claims.scale_readings(0.97)),
        why_unseen=UNSEEN_SMALL_STEPS,
    ),
    Strategy("windows 5 % shorter", claims.shave_windows(0.952)),
    Strategy("slowest twentieth of the batches left out", claims.drop_slow_batches),
    Strategy("epochs 1.5 % shorter", claims.shorten_epochs(0.985)),
    Strategy("epochs 5 % shorter", claims.shorten_epochs(0.952)),
    Strategy("whole run 5 % shorter", claims.dilate_time(1.052), why_unseen=UNSEEN_ITEMS),
    Strategy(
        "whole run 5 % shorter, clocks 5 % higher",
        claims.dilate_time(1.052, 1.052),
        why_unseen=UNSEEN_CLOCK,
    ),
    Strategy("best epoch over seven others", claims.repeat_best_epoch),
    Strategy(
        "FP8 as bf16",
        claims.claim_configuration_of("819f2c"),
        base="54c646",
        others=("bf5854", "819f2c"),
        honest="819f2c",
    ),
    Strategy(
        "tuned as baseline",
        claims.claim_configuration_of("9d3d13"),
        others=("9d3d13",),
        honest="9d3d13",
    ),
    Strategy(
        "four GPUs as one",
        claims.claim_one_of_several_boards,
        base="7d6e9c",
        others=("d83c3c", "648e25", "85582f"),
        honest="d83c3c",
    ),
    Strategy(
        "clock above the boost clock, 30 % more items",
        claims.chain(claims.raise_clock(1.3), claims.multiply_items(1.3)),
    ),
    Strategy(
        "a fifth of the time to the first token",
        claims.divide_first_token_time,
        base=SERVING,
        others=SERVING_OTHERS,
    ),
    Strategy("losses of another run", claims.take_losses_of("85582f")),
    Strategy("losses invented", claims.invent_losses),
    Strategy("temperature constant", claims.fix_temperature),
    Strategy("everything drawn anew, at the honest rate", synthesize),
    Strategy("copy", copies.leave_as_it_is),
    Strategy("copy with every 31st value altered", copies.alter_few_values),
    Strategy("copy, 1 % lower, every 31st value altered", copies.copy_lower),
    Strategy("copy with 1 W of jitter", copies.add_jitter(1.0)),
    Strategy("copy with 5 W of jitter", copies.add_jitter(5.0)),
    Strategy("copy with 20 W of jitter", copies.add_jitter(20.0)),
    Strategy(
        "run at 700 W as one at 400 W, batch 2 017 for 2 048, clocks a quarter lower",
        claims.chain(claims.multiply_items(2017 / 2048), claims.claim_cap(400.0, 0.75)),
    ),
    Strategy("run at 700 W as one at 300 W", claims.claim_cap(300.0, 0.7)),
    Strategy("run at 700 W as one at 550 W", claims.claim_cap(550.0, 0.92)),
    Strategy("run at 700 W as one at 664 W", claims.claim_cap(664.0, 0.97)),
    Strategy(
        "run at 700 W as an open one at 500 W",
        claims.chain(claims.claim_cap(500.0, 0.9), claims.claim_open_standing),
    ),
    Strategy(
        "LLaMA at 700 W as one at 450 W",
        claims.claim_cap(450.0, 0.85),
        base="bf5854",
        others=("819f2c",),
    ),
    *(
        Strategy(
            f"readings 9 % lower, slowdown reason {reason:#x}",
            claims.chain(claims.scale_readings(0.91), claims.set_slowdown(float(reason))),
        )
        for reason in (0x2, 0x10, 0x100)
    ),
    Strategy(
        "batch and clocks 9 % higher, readings 3 % lower",
        claims.chain(
            claims.multiply_items(1.09),
            claims.raise_clock(1.09, claims.BOOST_MHZ),
            claims.scale_readings(0.97),
        ),
    ),
    Strategy(
        "batch and clocks 4 % higher, readings 4 % lower",
        claims.chain(
            claims.multiply_items(1.04),
            claims.raise_clock(1.04, claims.BOOST_MHZ),
            claims.scale_readings(0.96),
        ),
        why_unseen=UNSEEN_SMALL_STEPS,
    ),
    Strategy(
        "clocks 8 % higher, readings 4 % lower, no more items",
        claims.chain(claims.raise_clock(1.08, claims.BOOST_MHZ), claims.scale_readings(0.96)),
    ),
    Strategy(
        "tuned as baseline on H100",
        claims.claim_configuration_of("9d3d13"),
        base="c76f09",
        others=(),
        honest="9d3d13",
    ),
    Strategy(
        "ViT-L/16 in FP8 as bf16",
        claims.claim_configuration_of("27b965"),
        base="2e4908",
        others=("27b965", "ca4866"),
        honest="27b965",
    ),
    Strategy(
        "server with FP8 cache, an open variant, as tuned",
        claims.claim_configuration_of("8e3adf"),
        base="5afeaa",
        others=("8e3adf", "b27ead"),
        honest="8e3adf",
    ),
    Strategy(
        "s2d as tuned",
        claims.claim_configuration_of("85582f"),
        base="f24a9a",
        others=("85582f", "648e25"),
        honest="85582f",
    ),
    Strategy(
        "s2d as tuned, clocks 12 % higher",
        claims.chain(
            claims.claim_configuration_of("85582f"), claims.raise_clock(1.12, claims.BOOST_MHZ)
        ),
        base="f24a9a",
        others=("85582f", "648e25"),
        honest="85582f",
    ),
    Strategy(
        "first rule book without newer evidence, batch and clocks 9 % higher, readings 3 % lower",
        claims.chain(
            claims.state_old_rule_book(),
            claims.multiply_items(1.09),
            claims.raise_clock(1.09, claims.BOOST_MHZ),
            claims.scale_readings(0.97),
        ),
        base="f24a9a",
        others=("695f66",),
    ),
    Strategy(
        "the same, dated to the first day of the rule book",
        claims.chain(
            claims.state_old_rule_book("2026-11-20"),
            claims.multiply_items(1.09),
            claims.raise_clock(1.09, claims.BOOST_MHZ),
            claims.scale_readings(0.97),
        ),
        base="f24a9a",
        others=("695f66",),
    ),
    Strategy("copy with other noise", copies.renew_all_noise(clocks_too=False)),
    Strategy("copy with other noise and clocks", copies.renew_all_noise(clocks_too=True)),
    Strategy(
        "copy with other noise and clocks, 5 % more items",
        claims.chain(copies.renew_all_noise(clocks_too=True), claims.multiply_items(1.05)),
        why_unseen=UNSEEN_ITEMS,
    ),
    Strategy(
        "copy with other noise and clocks, 2 % more items, readings 4 % lower",
        claims.chain(
            copies.renew_all_noise(clocks_too=True),
            claims.multiply_items(1.02),
            claims.scale_readings(0.96),
        ),
        why_unseen=UNSEEN_SMALL_STEPS,
    ),
    Strategy(
        "idle second rank with the batches and the utilisation of the first",
        claims.add_idle_rank,
        others=("ad8066",),
    ),
    *(
        Strategy(
            f"readings {percent} % lower, one clock, as an open run",
            claims.chain(
                claims.scale_readings(1 - percent / 100),
                claims.hold_clock(1755.0),
                claims.claim_open_standing,
            ),
        )
        for percent in (43, 10)
    ),
    *(
        Strategy(
            f"readings {percent} % lower, one clock, as an open run of own code",
            claims.chain(
                claims.scale_readings(1 - percent / 100),
                claims.hold_clock(1755.0),
                claims.claim_own_implementation,
            ),
            why_unseen=UNSEEN_CEILING,
        )
        for percent in (43, 10)
    ),
)
