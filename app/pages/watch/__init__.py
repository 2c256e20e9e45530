"""The page that watches runs while they train."""
