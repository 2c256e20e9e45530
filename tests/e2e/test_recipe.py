"""The recipe of a cluster: shown in the guide as it is, with runs that end in the bits of one machine."""

import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import pytest
from databases import HOW, programs
from process_samples import ended, small_corpus, wait_for, written
from recipe import FOLDER, Recipe, compose, free_ports, guide_blocks, variables

from topiary.app.jobs import new_run, trainer
from topiary.app.jobs.cluster.place import PlaceError, connect_client
from topiary.store import events, runs
from topiary.store.database import open_database
from topiary.store.errors import StoreError

pytest.importorskip("distributed")

PARTS = ("scheduler", "worker")
SWEPT = {"layers": "6-3", "inference": "gibbs"}
VALUES = {
    "MAIN_ADDRESS": "127.0.0.1",
    "POSTGRES_PASSWORD": "word-of-the-database",
    "TOPIARY_PASSWORD": "word-of-the-pages",
    "WORKERS": "2",
    "WORKER_MEMORY": "2GB",
    "MACHINE_MEMORY": "5G",
}


@pytest.mark.parametrize(("language", "name"), [("yaml", "compose.yaml"), ("dockerfile", "Dockerfile")])
def test_the_guide_shows_the_files_as_they_are(language, name):
    assert guide_blocks(language) == [(FOLDER / name).read_text(encoding="utf-8")]


def test_the_guide_says_what_to_write_for_every_variable_of_the_compose_file():
    (example,) = (block for block in guide_blocks("sh") if block.startswith("MAIN_ADDRESS="))
    assert set(re.findall(r"^(\w+)=", example, re.MULTILINE)) == variables() == set(VALUES)


def test_every_part_has_a_health_check_and_limits_and_begins_again():
    services = compose(VALUES, free_ports())["services"]
    assert set(services) == {"postgres", "scheduler", "worker", "topiary"}
    for about in services.values():
        assert about["healthcheck"]["test"]
        assert set(about["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
        assert about["restart"] == "unless-stopped"


def test_the_plain_commands_are_those_of_the_compose_file():
    same_ports = {port: port for port in free_ports()}
    services = compose(VALUES | {"MAIN_ADDRESS": "10.0.0.1", "WORKERS": "4", "WORKER_MEMORY": "8GB"}, same_ports)
    plain = [line for block in guide_blocks("sh") for line in block.splitlines() if line.startswith("dask ")]
    assert [
        services["services"][name]["command"][: len(line)] for name, line in zip(PARTS, plain, strict=True)
    ] == plain


def test_the_variables_of_plain_commands_are_those_of_the_compose_file():
    (exports,) = (block for block in guide_blocks("sh") if block.startswith("export DASK"))
    command = f"{exports}\nenv -0"
    found = subprocess.run(
        ["sh", "-e", "-c", command],
        env={"PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    ).stdout
    exported = dict(each.split("=", 1) for each in found.split("\0") if each.startswith("DASK"))
    own = compose(VALUES, free_ports())["services"]["worker"]["environment"]
    assert {key: value.replace("//", "/") for key, value in exported.items()} == own


@pytest.fixture(scope="module")
def recipe() -> Iterator[Recipe]:
    if programs() is None:
        pytest.skip(HOW)
    with Recipe(VALUES) as made:
        yield made


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.database
def test_a_run_over_tls_on_the_recipe_ends_in_the_bits_of_one_machine(recipe):
    environment = recipe.environment("topiary")
    with closing(open_database(environment["TOPIARY_STORE"])) as db:
        small_corpus(db)
        alone = new_run.create_run(db, "small", model="dlda", texts=SWEPT, minibatches=40, averaged=True).number
        trainer.train_run(db, alone)
        on = f"tls://127.0.0.1:{recipe.ports['8786']}"
        command = ["topiary", "train", "small", "--model", "dlda", "--layers", "6-3", "--set", "inference=gibbs"]
        command += ["--minibatches", "40", "--set", "averaged=true", "--on", on]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
        together = wait_for(db, max(each.number for each in runs.list_runs(db)), ended).number
        said = [each.text for each in events.read_new_events(db, together)[0] if each.kind == "workers"]
        assert [text.split(";")[0] for text in said] == [f"documents are swept by 2 workers of {on}"]
        assert written(db, together) == written(db, alone)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.database
def test_nobody_comes_in_without_password_or_certificate(recipe):
    address = recipe.environment("topiary")["TOPIARY_STORE"]
    with pytest.raises(StoreError, match="password"):
        open_database(address.replace(VALUES["POSTGRES_PASSWORD"], "another"))
    page = f"http://127.0.0.1:{recipe.ports['5006']}/"
    assert "password" in urllib.request.urlopen(page).read().decode()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{page}ws")
    for kind in ("tls", "tcp"):
        with pytest.raises(PlaceError, match="no scheduler with workers answers"):
            connect_client(f"{kind}://127.0.0.1:{recipe.ports['8786']}", patience=5)
