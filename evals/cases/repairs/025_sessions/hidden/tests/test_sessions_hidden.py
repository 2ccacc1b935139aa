from sessions import Sessions


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_many_old_sessions_are_swept_at_once():
    clock = Clock()
    sessions = Sessions(10, clock)
    for name in ("ann", "bob", "cid"):
        sessions.open(name[0], name)
    clock.now = 20
    assert sessions.sweep() == ["ann", "bob", "cid"]
    assert len(sessions) == 0


def test_what_is_used_is_kept_whatever_goes_around_it():
    clock = Clock()
    sessions = Sessions(10, clock)
    for name in ("ann", "bob", "cid"):
        sessions.open(name[0], name)
    clock.now = 6
    sessions.use("b")
    clock.now = 12
    assert sessions.sweep() == ["ann", "cid"]
    assert sessions.use("b") == "bob"
