"""The benchmark of topics by time, which compares Topiary with other programs."""
