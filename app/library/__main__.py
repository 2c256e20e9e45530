"""The ``topiary`` command, also as ``python -m topiary``."""

import sys

from .shadowing import ShadowedError, refuse_shadows

MISTAKE = 2  # exit status of everything the user can put right


def main() -> int:
    """Run the command that the command line names, once nothing stands in its way."""
    try:
        refuse_shadows()
    except ShadowedError as error:
        if sys.stderr is not None:
            sys.stderr.write(f"topiary: {error}\n")
        return MISTAKE
    from app.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
