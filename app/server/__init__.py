"""The web server: one process, one port; sessions of browsers, and replacements for what a link does not find."""
