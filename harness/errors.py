"""The errors that any part of the harness may raise: of a request, the machine or a meter."""


class PlanError(Exception):
    """The requested run is not possible. The message says why and what to do."""


class MachineError(PlanError):
    """This machine cannot carry out the run before something on it changes."""


class MeterError(Exception):
    """A meter cannot be used; the message says why and what to do."""


class BoardsEndedError(MeterError):
    """Simulated boards ended with their simulator, and their limits with them."""


class MeterNameError(MeterError):
    """The command line names a meter or simulated boards that do not exist."""


class NotAllowedError(MeterError):
    """This process may not change a setting of the accelerator; an administrator may."""
