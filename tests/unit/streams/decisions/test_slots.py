"""Single-valued attributes: the newest value wins, by effective time, log position and ordinal."""

from __future__ import annotations

from support.examples import candidate, extracted, forget, later, piece, remember, restore, revise, said, tick
from support.given import Given, given
from support.tables import each

from schemas.vocabulary.attributes import BY_NAME, ONE, SINGLE
from streams.decisions.parameters import Parameters

BEIJING, SHANGHAI = "用户住在北京", "用户住在上海"
IN_BEIJING = said(BEIJING, "t-1", attribute="city", value="北京")
IN_SHANGHAI = said(SHANGHAI, "t-2", later(days=1), attribute="city", value="上海")


def test_a_newer_value_supersedes_the_older_one():
    after = given(IN_BEIJING).when(IN_SHANGHAI).then("formed", "superseded")
    old, new = after.of(BEIJING), after.of(SHANGHAI)
    assert (old.status, old.superseded_by, new.status) == ("superseded", new.memory_id, "active")


def test_history_that_arrives_late_is_born_superseded():
    after = given(IN_SHANGHAI).when(IN_BEIJING).then("superseded")
    old, new = after.of(BEIJING), after.of(SHANGHAI)
    assert (old.status, old.superseded_by, new.status) == ("superseded", new.memory_id, "active")


@each("attribute", sorted(SINGLE))
def test_every_single_attribute_shows_one_value(attribute: str):
    first = said("first text", "t-1", attribute=attribute, value="one")
    second = said("another wording", "t-2", later(days=1), attribute=attribute, value="two")
    assert given(first, second).active(later(days=2)) == ["another wording"]


@each("attribute", ["likes", "family", "important_dates", "favourite_team"])
def test_lists_maps_and_other_words_accumulate(attribute: str):
    first = said("用户喜欢咖啡", "t-1", attribute=attribute, value="咖啡")
    second = said("用户喜欢登山", "t-2", later(days=1), attribute=attribute, value="登山")
    assert len(given(first, second).active(later(days=2))) == 2


def test_an_attribute_that_a_policy_gives_one_value_holds_the_newest():
    silver = said("The user pays for silver", "t-1", attribute="plan", value="silver", shape=ONE)
    gold = said("The user pays for gold", "t-2", later(days=1), attribute="plan", value="gold", shape=ONE)
    given(silver).when(gold).then("formed", "superseded")
    after = given(gold).when(silver).then("superseded")
    assert after.active(later(days=2)) == ["The user pays for gold"]


def test_of_a_map_that_a_policy_brings_the_newest_value_of_a_name_holds():
    shoes = said("The user's shoes have size 42", "t-1", attribute="size", value="shoes: 42", shape=BY_NAME)
    hats = said("The user's hats have size 58", "t-2", attribute="size", value="hats: 58", shape=BY_NAME)
    wider = said("His shoes have 43 now", "t-3", later(days=1), attribute="size", value="Shoes\uff1a43", shape=BY_NAME)
    after = given(shoes, hats).when(wider).then("formed", "superseded")
    assert sorted(after.active(later(days=2))) == ["His shoes have 43 now", "The user's hats have size 58"]


def test_what_an_assistant_said_alone_fills_no_single_value_of_a_policy():
    cites = piece("t-2", later(days=1), by_user=False)
    entry = candidate("The user pays for gold", "t-2", attribute="plan", value="gold", shape=ONE)
    silver = said("The user pays for silver", "t-1", attribute="plan", value="silver", shape=ONE)
    after = given(silver).when(extracted(entry, covers=[cites]))
    assert after.of("The user pays for silver").status == "active"


def test_at_the_same_effective_time_the_later_in_the_log_wins():
    other = said(SHANGHAI, "t-2", attribute="city", value="上海")
    assert given(IN_BEIJING, other).active(later(days=2)) == [SHANGHAI]
    assert given(other, IN_BEIJING).active(later(days=2)) == [BEIJING]


def test_within_one_answer_the_later_ordinal_wins():
    entries = [
        candidate(text, "t-1", attribute="city", value=value) for text, value in ((BEIJING, "北京"), (SHANGHAI, "上海"))
    ]
    after = given().when(extracted(*entries, covers=[piece("t-1")])).then("formed", "formed", "superseded")
    assert after.active(later(days=1)) == [SHANGHAI]


def test_the_same_value_in_other_words_reinforces():
    again = said("他家在北京。", "t-2", later(days=1), attribute="city", value="北京")
    after = given(IN_BEIJING).when(again).then("reinforced")
    assert after.active(later(days=2)) == [BEIJING]


def test_another_value_in_nearly_the_same_words_supersedes():
    one = said("用户今年30岁", "t-1", attribute="age", value="30")
    other = said("用户今年30岁。", "t-2", later(days=400), attribute="age", value="31")
    given(one).when(other).then("formed", "superseded")


def test_the_same_text_without_a_value_reinforces_rather_than_supersedes_itself():
    first = said(BEIJING, "t-1", attribute="city")
    given(first).when(said(BEIJING, "t-2", later(days=1), attribute="city")).then("reinforced")


def test_a_value_said_again_is_as_new_as_when_it_was_said_last():
    """Beijing, later Beijing again, and then the news comes that in between it was Shanghai: that is history."""
    again = said(BEIJING, "t-3", later(days=2), attribute="city", value="北京")
    after = given(IN_BEIJING, again).when(IN_SHANGHAI).then("superseded")
    assert after.active(later(days=3)) == [BEIJING]
    assert given(IN_BEIJING, IN_SHANGHAI, again).active(later(days=3)) == [BEIJING]


def test_what_is_said_late_is_compared_with_what_was_said_last_not_with_what_was_formed_last():
    again = said(BEIJING, "t-3", later(days=3), attribute="city", value="北京")
    late = said("用户住在广州", "t-4", later(days=2), attribute="city", value="广州")
    after = given(IN_BEIJING, again, IN_SHANGHAI).when(late).then("superseded")
    assert after.active(later(days=4)) == [BEIJING]


def test_a_value_that_returns_is_a_new_memory_in_the_present():
    again = said(BEIJING, "t-3", later(days=2), attribute="city", value="北京")
    after = given(IN_BEIJING, IN_SHANGHAI).when(again).then("formed", "superseded")
    assert [m.status for m in after.memories] == ["superseded", "superseded", "active"]


def with_shanghai_forgotten(at_days: float = 2) -> Given:
    known = given(IN_BEIJING, IN_SHANGHAI)
    return known.when(forget(known.of(SHANGHAI).memory_id, "c-1", later(days=at_days)))


def test_forgetting_the_present_value_does_not_bring_the_past_one_back():
    assert with_shanghai_forgotten().active(later(days=3)) == []


def test_what_is_older_than_a_forgotten_value_is_still_history():
    late = said("用户住在广州", "t-0", later(hours=1), attribute="city", value="广州")
    after = with_shanghai_forgotten().when(late).then("superseded")
    assert after.active(later(days=3)) == []


def test_a_forgotten_value_restored_where_a_newer_one_holds_the_place_is_superseded():
    forgotten = with_shanghai_forgotten()
    shanghai = forgotten.of(SHANGHAI).memory_id
    newer = said("用户住在广州", "t-3", later(days=3), attribute="city", value="广州")
    after = forgotten.when(newer).then("formed").when(restore(shanghai, "c-2", later(days=4))).then("superseded")
    assert after.active(later(days=5)) == ["用户住在广州"]


def test_a_superseded_value_cannot_be_restored():
    known = given(IN_BEIJING, IN_SHANGHAI)
    after = known.when(restore(known.of(BEIJING).memory_id, "c-1", later(days=2))).then("refused")
    assert after.events == []


def test_an_expired_value_does_not_make_the_next_one_history():
    short = said(BEIJING, "t-1", later(days=1), attribute="city", value="北京", memory_type="short_term")
    after = given(short, tick(later(days=5))).when(
        said(SHANGHAI, "t-2", later(hours=1), attribute="city", value="上海")
    )
    assert after.then("formed").of(SHANGHAI).status == "active"


def test_keep_never_overwrites_a_value():
    known = given(IN_BEIJING, parameters=Parameters(profile_keeps=True))
    after = known.when(IN_SHANGHAI).then("nothing")
    assert after.active(later(days=2)) == [BEIJING]
    fact = remember(SHANGHAI, "c-1", later(days=1), attribute="city", value="上海")
    assert known.when(fact).then("refused").active(later(days=2)) == [BEIJING]


def test_keep_takes_the_first_value_there_is():
    given(parameters=Parameters(profile_keeps=True)).when(IN_BEIJING).then("formed")


def test_a_remembered_value_supersedes_and_is_born_superseded_like_a_said_one():
    newer = remember(SHANGHAI, "c-1", later(days=1), attribute="city", value="上海")
    older = remember(SHANGHAI, "c-1", later(days=-1), attribute="city", value="上海")
    given(IN_BEIJING).when(newer).then("formed", "superseded")
    given(IN_BEIJING).when(older).then("superseded")


def test_an_episode_never_fills_a_single_slot():
    gift = said(
        "搬到上海", "t-2", later(days=1), kind="episodic", event_type="milestone", attribute="city", value="上海"
    )
    given(IN_BEIJING).when(gift).then("formed")


def test_an_older_word_for_a_value_does_not_make_the_value_older():
    newest = said(SHANGHAI, "t-5", later(days=5), attribute="city", value="上海")
    known = given(newest, IN_SHANGHAI)
    assert known.only.access_count == 1
    between = said("用户住在广州", "t-3", later(days=3), attribute="city", value="广州")
    assert known.when(between).then("superseded").active(later(days=6)) == [SHANGHAI]


def test_a_memory_that_says_something_else_than_the_like_it_was_given_does_not_end_by_a_dislike():
    cat = said("用户养了一只猫，叫小黑", "t-1", attribute="likes", value="小黑")
    after = given(cat).when(said("用户讨厌小黑抓沙发", "t-2", later(days=1), attribute="dislikes", value="小黑"))
    assert [m.status for m in after.memories] == ["active", "active"]


LIKES = said("用户喜欢咖啡", "t-1", attribute="likes", value="咖啡")
DISLIKES = said("用户不喜欢咖啡", "t-2", later(days=1), attribute="dislikes", value="咖啡")


def test_a_thing_is_liked_or_disliked_whichever_was_said_last():
    after = given(LIKES).when(DISLIKES).then("formed", "superseded")
    liked, disliked = after.of("用户喜欢咖啡"), after.of("用户不喜欢咖啡")
    assert (liked.status, liked.superseded_by, disliked.status) == ("superseded", disliked.memory_id, "active")
    assert after.reasons[1] == "a newer dislikes was said"
    again = said("用户又喜欢咖啡", "t-3", later(days=2), attribute="likes", value="咖啡")
    assert after.when(again).then("formed", "superseded").active(later(days=3)) == ["用户又喜欢咖啡"]


def test_a_taste_that_arrives_late_is_history():
    after = given(DISLIKES).when(LIKES).then("superseded")
    assert after.active(later(days=2)) == ["用户不喜欢咖啡"]
    assert after.reasons == ["a newer dislikes is known"]


def test_other_things_and_other_agents_tastes_stay():
    tea = said("用户不喜欢茶", "t-2", later(days=1), attribute="dislikes", value="茶")
    assert len(given(LIKES).when(tea).then("formed").active(later(days=2))) == 2
    other = extracted(
        candidate("用户不喜欢咖啡", "t-2", attribute="dislikes", value="咖啡"),
        covers=[piece("t-2", later(days=1))],
        agent_id="aria",
    )
    assert len(given(LIKES).when(other).then("formed").active(later(days=2))) == 2


def test_where_the_profile_keeps_what_it_has_both_lists_accumulate():
    keeps = given(LIKES, parameters=Parameters(profile_keeps=True)).when(DISLIKES).then("formed")
    assert len(keeps.active(later(days=2))) == 2
    fact = remember("讨厌咖啡", "c-1", later(days=2), attribute="dislikes", value="咖啡")
    assert len(given(LIKES, parameters=Parameters(profile_keeps=True)).when(fact).active(later(days=2))) == 2


def test_a_taste_that_is_remembered_or_brought_back_meets_its_opposite_too():
    fact = remember("讨厌咖啡", "c-1", later(days=2), attribute="dislikes", value="咖啡")
    known = given(LIKES).when(fact).then("formed", "superseded")
    assert known.active(later(days=3)) == ["讨厌咖啡"]
    liked = given(LIKES)
    gone = liked.when(forget(liked.only.memory_id, "c-2", later(days=1))).when(fact).then("formed")
    back = gone.when(restore(liked.only.memory_id, "c-3", later(days=3))).then("superseded")
    assert back.active(later(days=4)) == ["讨厌咖啡"]


def test_a_value_that_is_made_to_last_meets_the_newer_one_that_came_when_it_would_have_been_over():
    short = remember(BEIJING, "c-1", attribute="city", value="北京", memory_type="short_term")
    newer = remember(SHANGHAI, "c-2", later(days=5), attribute="city", value="上海")
    known = given(short, newer)
    lasting = revise(known.of(BEIJING).memory_id, "c-3", later(days=1), memory_type="long_term")
    assert known.when(lasting).then("revised", "superseded").active(later(days=6)) == [SHANGHAI]
