"""A new demo looks like the picture of README.md."""

import pytest

from tests.readme_picture import look_at_demo, prepare_demo, read_facts


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_new_demo_has_the_layers_tiles_and_curves_of_the_picture(tmp_path, chromium, start_server):
    known = read_facts()
    with prepare_demo(tmp_path) as store:
        facts, _ = look_at_demo(start_server(store).url, chromium)
    assert (facts["layers"], facts["curves"]) == (known["layers"], known["curves"])
    assert abs(facts["tiles"] - known["tiles"]) <= known["tiles"] / 3, "python -m tests.readme_picture draws it again"
