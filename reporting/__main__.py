"""Run `bench-report`, also as `python -m reporting`."""

from checker import exit_on_interrupt


def main() -> None:
    """Run `bench-report` with the arguments of the process."""
    exit_on_interrupt("bench-report")
    # Importing takes most of the time in which a program starts.
    from reporting.cli import start

    start()


if __name__ == "__main__":
    main()
