"""Deep topic models: settings, inference, and measures; without files, clocks, stores or screens."""
