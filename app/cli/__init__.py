"""The ``topiary`` command: one file per family of subcommands, with the parser and the console next to them."""
