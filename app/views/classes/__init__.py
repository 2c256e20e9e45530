"""Classes: reports, confusion, reliability."""
