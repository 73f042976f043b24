"""The token counts of server and answers differ

## What it does
Compares the output tokens of all answers, including the warm-up, with the server's own counter over
the same time. They must be at least the tokens of the listed requests.

## Why it is bad
The headline counts output tokens. Answers that state more tokens than the server generated were
counted wrongly, or came from another source.

## What to do
Count the tokens that the last message of an answer states. If the server also answers other
clients, run it alone.

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
    tally = bundle.declaration.tally
    if tally is None:
        return
    client_tokens, server_tokens = tally.client_output_tokens, tally.server_output_tokens
    if client_tokens != server_tokens:
        yield Violation(
            RESULT,
            "/tally/server_output_tokens",
            f"{server_tokens} by the counter of the server",
            f"{client_tokens}, the tokens of the answers",
        )
    if bundle.requests is not None:
        listed_tokens = int(bundle.requests.ints("output_tokens").sum())
        # The tally includes the warm-up, which the table of requests leaves out, so it may be
        # higher.
        if listed_tokens > client_tokens:
            yield Violation(
                RESULT,
                "/tally/client_output_tokens",
                f"{client_tokens}",
                f"at least {listed_tokens}, the tokens of {len(bundle.requests)} requests",
            )
