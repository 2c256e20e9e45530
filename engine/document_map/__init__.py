"""The map of all documents: positions on a plane, from the shares of their topics, and the islands found there."""
