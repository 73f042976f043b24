"""The messages and exit codes of the errors of a run."""

import contextlib
import sys
from collections.abc import Iterator

import click

from checker.terminal import UNWRITABLE, UnavailableError, UnwritableError, describe_unwritable


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Turn the errors of a run into messages and exit codes: 1 for a failure, 2 for wrong usage, 3
    for what this machine cannot do or write, 128 + N for signal N."""
    from harness.errors import MachineError, MeterError, MeterNameError, PlanError
    from harness.host_load import HostLoadError
    from harness.interrupts import Interrupted
    from harness.power.caps.restore import RestoreError
    from harness.power.caps.watchdog import WatchdogError
    from harness.power.reading_process import SamplerError, SamplesUnwritable
    from harness.run.cluster import ClusterError
    from harness.run.session import RunFailed, RunUnwritable

    try:
        yield
    except (RunUnwritable, SamplesUnwritable) as error:
        raise UnwritableError(str(error)) from None
    # RestoreError and WatchdogError come first, because they are MeterErrors but failures of a run.
    except (
        RunFailed,
        RestoreError,
        WatchdogError,
        ClusterError,
        SamplerError,
        HostLoadError,
    ) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        if error.errno in UNWRITABLE:
            raise UnwritableError(describe_unwritable(error)) from None
        raise click.ClickException(str(error)) from None
    # MeterNameError comes first, because it is a MeterError, and MachineError before PlanError.
    except MeterNameError as error:
        raise click.UsageError(str(error)) from None
    except (MachineError, MeterError) as error:
        raise UnavailableError(str(error)) from None
    except PlanError as error:
        raise click.UsageError(str(error)) from None
    except Interrupted as interrupt:
        sys.exit(128 + interrupt.number)
