"""What a server process keeps and passes on to all sessions: the feed, its ticks, caches and actions."""
