"""Run the process that prepares the demo.

Processes that read documents for it import this module as well, so that it imports nothing before it runs.
"""

import sys

if __name__ == "__main__":
    from topiary.app.jobs import demo

    sys.exit(demo.prepare_stored_demo(sys.argv[1:]))
