from access import Person, Room, may_enter, rooms_of

LAB = Room("lab", guests={"ann"}, needs=frozenset({"staff", "trained"}))


def test_a_guest_enters():
    assert may_enter(Person("ann"), LAB)


def test_all_roles_are_needed():
    assert may_enter(Person("bob", frozenset({"staff", "trained"})), LAB)
    assert not may_enter(Person("bob", frozenset({"staff"})), LAB)


def test_who_is_blocked_stays_out():
    assert not may_enter(Person("ann", blocked=True), LAB)


def test_a_room_that_needs_nothing_is_for_guests():
    assert not may_enter(Person("bob"), Room("hall"))


def test_rooms_are_sorted():
    rooms = [Room("z", guests={"ann"}), LAB, Room("hall")]
    assert rooms_of(Person("ann"), rooms) == ["lab", "z"]
