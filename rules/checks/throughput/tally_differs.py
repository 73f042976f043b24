"""The server counts other tokens than the answers

## What it does
Compares the output tokens of all answers, warm-up included, with the server's own counter over the
same time, and asks that they are at least those of the requests that are listed.

## Why it is bad
Output tokens are the headline. Answers that claim more tokens than the server generated were
counted wrongly, or came from somewhere else.

## What to do
Count what the answer says in its last message. If the server answers others as well, run it alone.

## Source
Protocol, section "serving". SGLang's counter is `sglang:generation_tokens_total` of its metrics.
"""

from collections.abc import Iterator

from rules.bundle import Bundle
from rules.bundle_format.table import RESULT
from rules.finding import Severity, Violation
from rules.rule import BundleRule

RULE = BundleRule(__name__, "T110", Severity.ERROR, added="1.1.0")


@RULE.check
def check(bundle: Bundle) -> Iterator[Violation]:
    tally = bundle.result.get("tally")
    if tally is None:
        return
    client, server = tally["client_output_tokens"], tally["server_output_tokens"]
    if client != server:
        yield _found(
            "/tally/server_output_tokens",
            f"{server} by the server",
            f"{client}, as the answers say",
        )
    if bundle.requests is not None:
        listed = int(bundle.requests.ints("output_tokens").sum())
        if listed > client:
            yield _found(
                "/tally/client_output_tokens",
                f"{client}",
                f"at least {listed}, those of {len(bundle.requests)} requests",
            )


def _found(pointer: str, found: str, expected: str) -> Violation:
    return Violation(
        RESULT,
        pointer,
        found,
        expected,
        "Tokens were counted wrongly, or others used the server. Run again, alone.",
    )
