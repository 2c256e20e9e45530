"""What stands behind ``topiary benchmark``: published tables, measured anew."""
