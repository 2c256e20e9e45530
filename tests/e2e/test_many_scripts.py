"""Words of every script stay whole on the way: from the file through training into trees, topics and their files."""

import csv
import html
import json
import unicodedata
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest
from orchard import InnerTopiary

from topiary.app.analysis.read_hierarchy import find_snapshot_at, read_hierarchy
from topiary.app.export import topics as exported
from topiary.app.ingest.text.languages import count_scripts
from topiary.store import corpora, runs
from topiary.store.database import open_database

SUBJECTS = {
    "garden": "jardín café naïve straße ёжик сад κήπος δέντρο حديقة زهور גינה פרחים बगीचा फूल बीज 꽃밭 나무",
    "space": "fusée météore żuraw światło комета ракета πλανήτης αστέρι صاروخ كوكب ירח כוכב अंतरिक्ष ग्रह 우주 로켓",
}
SENTENCES = {
    "garden": ("孩子们在花园里种树。", "子供たちは庭園で花を育てます。", "เด็กปลูกต้นไม้ในสวนดอกไม้"),
    "space": ("科学家用火箭研究行星。", "科学者は望遠鏡で惑星を観測します。", "นักวิทยาศาสตร์ศึกษาดวงจันทร์และดาวเคราะห์"),
}
CUT = {"garden": ("种树", "庭園", "ดอกไม้"), "space": ("火箭", "惑星", "จันทร์")}
EMOJI = ("👩‍🚀", "❤️", "🇩🇪", "👍🏽", "rose🌹", "ça_va")
SMALL = ("--layers", "8-4", "--set", "batch_size=40", "--set", "burn_in=4", "--set", "collect=3", "--threads", 1,
         "--minibatches", 40, "--wait")  # fmt: skip
FORMS = ("svg", "dot", "graphml", "json")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def written(words, form):
    """Words as a file may have them: accents apart, a stroke in Arabic, soft hyphens."""
    text = unicodedata.normalize(form, " ".join(words))
    return text.replace("حديقة", "حَدِيقَـــة").replace("fus", "fu\u00ads")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> InnerTopiary:
    topiary = InnerTopiary(tmp_path_factory.mktemp("scripts"))
    rng = np.random.default_rng(3)
    with (topiary.folder / "scripts.jsonl").open("w", encoding="utf-8") as file:
        for number in range(160):
            subject = list(SUBJECTS)[number % 2]
            words = written(rng.choice(SUBJECTS[subject].split(), 16), ("NFC", "NFD")[number // 2 % 2])
            text = f"{words} {''.join(SENTENCES[subject][number // 2 % 3])} 🌍"
            file.write(json.dumps({"text": text, "label": f"{subject} ❤️", "title": f"सं {number} 👩‍🚀"}) + "\n")
    topiary("import", "scripts.jsonl", "--name", "scripts 🌍")
    topiary("train", "scripts 🌍", *SMALL)
    with (topiary.folder / "emoji.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text"])
        rows.writerows([" ".join(rng.choice(EMOJI, 20))] for _ in range(80))
    topiary("import", "emoji.csv", "--token-pattern", r"\S+", "--stop-words", "none", "--max-df", 1)
    topiary("train", "emoji", *SMALL)
    return topiary


@pytest.fixture(scope="module")
def texts(trained) -> list[dict[str, str]]:
    """For each of both runs every file of its topics, by its ending, as a reader of that format reads it."""
    found = [files(trained, run) for run in (1, 2)]
    return [each | {"graphml": html.unescape(each["graphml"])} for each in found]


def files(topiary, run):
    nodes = topiary.read("topics", run, "--layer", 2, "--all")
    roots = [part for node in nodes for part in ("--topic", node["topic"])]
    for form in FORMS:
        topiary("tree", run, *roots, "--light", "--threshold", 0, "--output", f"tree{run}.{form}")
    db = open_database(topiary.store, readonly=True)
    row = runs.get_run(db, run)
    exported.write_topics(
        read_hierarchy(db, row, find_snapshot_at(db, row, None)), None, topiary.folder / f"topics{run}.csv"
    )
    db.close()
    names = [f"tree{run}.{form}" for form in FORMS] + [f"topics{run}.csv"]
    return {name.partition(".")[2]: (topiary.folder / name).read_text(encoding="utf-8") for name in names}


def test_every_script_is_recognised_and_its_words_are_whole(trained):
    db = open_database(trained.store, readonly=True)
    row = corpora.get_corpus(db, 1)
    vocabulary, documents = set(corpora.read_vocabulary(db, 1)), corpora.read_documents(db, 1, [0, 1])
    db.close()
    planted = {word for words in SUBJECTS.values() for word in words.split()}
    assert planted | {word for words in CUT.values() for word in words} <= vocabulary
    assert all(unicodedata.is_normalized("NFC", word) for word in vocabulary)
    assert (row.name, row.label_names) == ("scripts 🌍", ("garden ❤️", "space ❤️"))
    assert [document.title for document in documents] == ["सं 0 👩‍🚀", "सं 1 👩‍🚀"]
    assert "花园" in documents[0].text


@pytest.fixture(scope="module")
def words(trained) -> set[str]:
    """The first words of all topics of the first run."""
    return {word for topic in trained.read("topics", 1, "--all", "--words", 4) for word in topic["words"]}


@pytest.mark.parametrize("form", [*FORMS, "csv"])
def test_words_of_every_script_are_whole_in_every_file(texts, words, form):
    text = texts[0][form]
    assert {
        "Latin", "Greek", "Cyrillic", "Arabic", "Hebrew", "Devanagari", "Hangul", "Han", "Kana", "Thai",
    } <= count_scripts(text).keys()  # fmt: skip
    assert [word for word in words if word not in text] == []
    assert "\ufffd" not in text


@pytest.mark.parametrize("form", [*FORMS, "csv"])
def test_emoji_are_whole_in_every_file(texts, form):
    text = texts[1][form]
    assert [word for word in EMOJI if word not in text] == []


def test_the_files_can_be_read(trained, texts):
    folder = trained.folder
    graph = nx.read_graphml(folder / "tree1.graphml")
    found = " ".join(str(value) for _, facts in graph.nodes(data=True) for value in facts.values())
    assert {"Greek", "Arabic", "Devanagari"} <= count_scripts(found).keys()
    drawn = " ".join(ET.parse(folder / "tree1.svg").getroot().itertext())
    assert {"Greek", "Arabic", "Devanagari"} <= count_scripts(drawn).keys()


def test_a_new_text_is_cut_as_the_corpus_was(trained):
    path = trained.folder / "new.txt"
    path.write_text(f"{written(['сад', 'حديقة', 'jardín'], 'NFD')} {SENTENCES['garden'][0]}", encoding="utf-8")
    (placed,) = trained.read("infer", 1, path)["documents"]
    assert placed["unknown"] == []
    assert placed["known"] == placed["tokens"] >= 5  # three words, and those of the sentence
