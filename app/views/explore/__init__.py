"""Lists, cards and details of topics."""
