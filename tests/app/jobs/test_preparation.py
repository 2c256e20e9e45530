"""The progress of the demo: one share that never falls, what comes next, and how long it takes."""

from topiary.app.jobs.preparation import STAGES, Preparation


class Heard(list):
    """What a preparation says at given seconds."""

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.preparation = Preparation(lambda words, share: self.append((words, share)), lambda: self.now)

    def tell(self, now, words, share=None):
        self.now = now
        self.preparation(words, share)
        return self[-1]


def test_the_share_never_falls_and_the_sentence_says_what_comes():
    heard = Heard()
    words, _ = heard.tell(0.0, "Reading documentation: 95 docstrings", 0.02)
    assert words.startswith("Reading documentation: 95 docstrings; next: counting words; about ")
    heard.tell(5.0, "Reading documentation: 5,000 docstrings", 1.0)
    heard.tell(6.0, "Recognising the language: 2,000 documents")
    heard.tell(8.0, "Recognising the language: 5,000 documents")
    heard.tell(8.0, "Counting words: 2,000 documents")
    heard.tell(9.0, "Storing documents: 2,000", 0.4)
    heard.tell(10.0, "Preparing the search: 2,000 documents", 0.4)
    heard.tell(11.0, "Compiling the model, once")
    heard.tell(12.0, "Compiling the model, once")
    words, _ = heard.tell(90.0, "Starting the first run, of three layers")
    assert "next" not in words
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert len(set(shares[-4:])) == 4
    assert 0.0 <= shares[0] < 0.02
    assert 0.85 < shares[-1] <= 1.0


def test_what_is_left_follows_the_pace_of_this_machine():
    total = sum(stage.seconds for stage in STAGES)
    assert Heard().tell(0.0, "Reading documentation", 0.0)[0].endswith(f"about {total:.0f} s left")
    slow = Heard()
    assert slow.tell(29.0, "Reading documentation", 1.0)[0].endswith("about 3 min 24 s left")  # four times as slow


def test_notes_and_what_is_out_of_order_are_left_out():
    heard = Heard()
    heard.tell(1.0, "Storing documents: 5", 0.5)
    said = list(heard)
    heard.tell(2.0, "Note: the texts are in English")
    heard.tell(2.0, "Reading documentation", 0.9)
    assert heard == said
