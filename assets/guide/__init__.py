"""The user guide, shown in the app and readable as Markdown."""
