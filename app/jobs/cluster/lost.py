"""What is raised where a part of a cluster is gone."""


class WorkerLostError(RuntimeError):
    """A worker went, and with it the local variables of its documents; the last checkpoint has them."""
