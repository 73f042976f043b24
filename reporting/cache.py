"""The directory of what an earlier report has drawn and compiled."""

from pathlib import Path

import reporting
from checker.command_line.user_cache import UnsafeError, open_directory
from checker.judging.verdict_cache import hash_code
from reporting.html.document import keep_compiled


def open_report_cache() -> tuple[str, Path | None]:
    """The hash of the present code, and the directory of the charts that it has drawn and of the
    templates that it has compiled; None where there can be none."""
    code = hash_code(reporting)
    try:
        directory = open_directory("charts", code)
    except UnsafeError:
        return code, None  # The cache of verdicts, beside it, warns.
    if directory:
        keep_compiled(directory)
    return code, directory
