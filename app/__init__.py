"""The app introduces engine and store to each other and to people."""
