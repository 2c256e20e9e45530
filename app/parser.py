"""How every command refuses words it does not know."""

import argparse
from typing import NoReturn

MISTAKE = 2  # exit status of everything the user can put right


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and leave with status 2."""
        self.exit(MISTAKE, f"{self.prog}: {message}; see {self.prog} --help\n")
