"""Wrong passwords make whoever tries them wait."""

from app.server.attempts import EVERYBODY, FREE, LONGEST, PLACES, Attempts


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_few_are_free_and_every_further_one_doubles_the_wait():
    clock = Clock()
    attempts = Attempts(clock)
    waits = []
    for _ in range(FREE + 4):
        attempts.failed("192.0.2.7")
        waits.append(attempts.wait("192.0.2.7"))
    assert waits == [0.0] * (FREE - 1) + [1.0, 2.0, 4.0, 8.0, 16.0]
    clock.now += 15.0
    assert attempts.wait("192.0.2.7") == 1.0
    for _ in range(40):
        attempts.failed("192.0.2.7")
    assert attempts.wait("192.0.2.7") == LONGEST


def test_others_do_not_wait_and_the_right_password_ends_it():
    attempts = Attempts(Clock())
    for _ in range(FREE + 1):
        attempts.failed("192.0.2.7")
    assert attempts.wait("192.0.2.8") == 0.0
    attempts.passed("192.0.2.7")
    assert attempts.wait("192.0.2.7") == 0.0


def test_the_addresses_of_one_customer_are_one_place():
    attempts = Attempts(Clock())
    for last in range(FREE):
        attempts.failed(f"2001:db8::{last}")
    assert attempts.wait("2001:db8::ffff") > 0
    assert attempts.wait("2001:db8:0:1::1") == 0.0


def test_addresses_of_ipv4_in_the_clothes_of_ipv6_are_places_of_their_own():
    attempts = Attempts(Clock())
    for _ in range(FREE):
        attempts.failed("::ffff:192.0.2.7")
    assert attempts.wait("192.0.2.7") > 0
    assert attempts.wait("::ffff:192.0.2.8") == 0.0


def test_wrong_passwords_from_everywhere_are_slowed_down_together():
    clock = Clock()
    attempts = Attempts(clock)
    attempts.passed("192.0.2.9")
    for number in range(EVERYBODY):
        attempts.failed(f"10.{number // 250}.0.{number % 250}")
    assert attempts.wait("192.0.2.1") == 60.0
    assert attempts.wait("192.0.2.9") == 0.0  # the right password came from there
    clock.now += 60.0
    assert attempts.wait("192.0.2.1") == 0.0


def test_a_place_is_forgotten_after_an_hour_and_the_list_is_bounded():
    clock = Clock()
    attempts = Attempts(clock)
    for _ in range(FREE):
        attempts.failed("192.0.2.7")
    clock.now += 4000.0
    attempts.failed("192.0.2.7")
    assert attempts.wait("192.0.2.7") == 0.0
    for number in range(PLACES + 100):
        attempts.failed(f"unknown {number}")
    assert len(attempts._places) == PLACES
