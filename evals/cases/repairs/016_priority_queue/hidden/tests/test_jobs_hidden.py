from jobs import Job, JobQueue


def test_the_name_decides_nothing():
    queue = JobQueue()
    for name in ("zebra", "ant", "mole"):
        queue.push(5, Job(name))
    assert [queue.pop().name for _ in range(3)] == ["zebra", "ant", "mole"]


def test_the_order_holds_between_pops():
    queue = JobQueue()
    queue.push(1, Job("b"))
    queue.push(1, Job("c"))
    assert queue.pop().name == "b"
    queue.push(1, Job("a"))
    assert [queue.pop().name for _ in range(2)] == ["c", "a"]


def test_one_job_may_wait_twice():
    queue, job = JobQueue(), Job("again")
    queue.push(1, job)
    queue.push(1, job)
    assert len(queue) == 2
