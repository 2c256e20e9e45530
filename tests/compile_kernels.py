"""Compile the kernels of every model before tests run: ``python -m tests.compile_kernels``.

Each of two processes compiles half of the models.  Otherwise two tests at a time would often compile the same kernels.
"""

import subprocess
import sys

from topiary.app.jobs.compile_kernels import PARTS, KernelRequest, compile_part
from topiary.engine import models, settings

HALVES = 2


def compile_half(half: int) -> None:
    """Compile the kernels of every second model with its default settings, beginning with model ``half``."""
    for name in models.list_names()[half::HALVES]:
        config = settings.to_json(models.load(name).Config())
        for part in PARTS:
            compile_part(KernelRequest(name, config, real=False, scored=False, averaged=False), part)


def main(arguments: list[str]) -> int:
    """Compile one half, or start a process for each half and wait for both."""
    if arguments:
        compile_half(int(arguments[0]))
        return 0
    command = [sys.executable, "-m", "tests.compile_kernels"]
    processes = [subprocess.Popen([*command, str(half)]) for half in range(HALVES)]
    return max(process.wait() for process in processes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
