from access import Person, Room, may_enter, rooms_of


def test_a_closed_room_lets_nobody_in():
    assert not may_enter(Person("ann"), Room("lab", guests={"ann"}, closed=True))
    closed = Room("vault", needs=frozenset({"staff"}), closed=True)
    assert not may_enter(Person("bob", frozenset({"staff"})), closed)


def test_roles_do_not_help_who_is_blocked():
    staff = Person("bob", frozenset({"staff"}), blocked=True)
    assert rooms_of(staff, [Room("office", needs=frozenset({"staff"}))]) == []


def test_closed_and_blocked():
    assert not may_enter(Person("ann", blocked=True), Room("lab", guests={"ann"}, closed=True))
