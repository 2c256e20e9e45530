"""What is offered on the canvas of a tree."""


def more_offer(threshold: float | None) -> str:
    """Offer the threshold at which more is seen, where nothing is joined at this one; empty for None."""
    if threshold is None:
        return ""
    hint = "Nothing is joined at the threshold chosen; at this one something is"
    return (
        f'<button class="ex-more" data-do="threshold" data-value="{threshold:g}" title="{hint}">'
        f"Show more: threshold {threshold:g}</button>"
    )
