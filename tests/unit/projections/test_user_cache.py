"""What is kept of users: those asked for last, within bounds, of which what is quickly made again has its own."""

from __future__ import annotations

from projections.user_cache import LARGE_BYTES, UserCache

SMALL, LARGE = 100, LARGE_BYTES + 1


def kept(cache: UserCache[str | int, str]) -> set[str | int]:
    return set(cache)


def test_those_asked_for_longest_ago_make_room():
    cache = UserCache[str | int, str](small_bytes=2 * SMALL, max_bytes=10 * LARGE)
    cache.put("anna", "a", SMALL)
    cache.put("ben", "b", SMALL)
    assert cache.get("anna") == "a"
    cache.put("cem", "c", SMALL)
    assert (kept(cache), cache.nbytes, len(cache)) == ({"anna", "cem"}, 2 * SMALL, 2)
    assert (cache.get("ben"), "ben" in cache) == (None, False)


def test_any_number_of_users_with_little_drops_none_with_much():
    cache = UserCache[str | int, str](small_bytes=10 * SMALL, max_bytes=3 * LARGE)
    cache.put("much", "m", LARGE)
    for number in range(1_000):
        cache.put(number, "s", SMALL)
    assert kept(cache) == {"much", *range(990, 1_000)}


def test_what_is_large_makes_room_for_what_is_large():
    cache = UserCache[str | int, str](small_bytes=10 * SMALL, max_bytes=2 * LARGE + SMALL)
    for user in ("anna", "ben", "little", "cem"):
        cache.put(user, user, SMALL if user == "little" else LARGE)
    assert kept(cache) == {"ben", "little", "cem"}


def test_the_one_asked_for_last_is_kept_however_large_it_is():
    cache = UserCache[str | int, str](small_bytes=1, max_bytes=1)
    for user in ("anna", "ben"):
        cache.put(user, user, LARGE)
        assert kept(cache) == {user}


def test_what_grows_is_counted_and_no_question():
    cache = UserCache[str | int, str](small_bytes=3 * SMALL, max_bytes=2 * LARGE)
    for user in ("anna", "ben"):
        cache.put(user, user, SMALL)
    cache.resize("anna", 2 * SMALL)
    assert (kept(cache), cache.nbytes) == ({"anna", "ben"}, 3 * SMALL)
    assert cache.peek("anna") == "anna"
    cache.resize("ben", 2 * SMALL)
    assert kept(cache) == {"ben"}
    cache.resize("nobody", SMALL)
    cache.resize("ben", LARGE)
    assert (kept(cache), cache.nbytes) == ({"ben"}, LARGE)


def test_what_is_dropped_counts_no_more():
    cache = UserCache[str | int, str](small_bytes=SMALL, max_bytes=LARGE)
    cache.put("anna", "a", SMALL)
    cache.put("anna", "newer", SMALL // 2)
    assert (cache.get("anna"), cache.nbytes) == ("newer", SMALL // 2)
    cache.pop("anna")
    cache.pop("anna")
    assert (kept(cache), cache.nbytes) == (set(), 0)
    cache.put("anna", "a", LARGE)
    cache.clear()
    assert (kept(cache), cache.nbytes, cache.get("anna")) == (set(), 0, None)


def test_a_value_that_takes_the_place_of_another_one_counts_as_much_and_was_asked_for():
    cache = UserCache[str, str](2_000, 10_000)
    assert not cache.replace("a", "later")
    cache.put("a", "earlier", 900)
    cache.put("b", "other", 900)
    assert cache.replace("a", "later")
    assert cache.nbytes == 1_800
    cache.put("c", "third", 900)
    assert (cache.peek("a"), cache.peek("b")) == ("later", None)
