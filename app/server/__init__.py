"""The web server: one process, one port; what a visit is made of, and what happens when a link leads nowhere."""
