"""The parts of a server process that all sessions share: the feed, its ticks, caches and actions."""
