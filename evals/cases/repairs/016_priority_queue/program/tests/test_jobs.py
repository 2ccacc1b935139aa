import pytest
from jobs import Job, JobQueue


def drained(queue):
    return [queue.pop().name for _ in range(len(queue))]


def test_urgent_jobs_come_first():
    queue = JobQueue()
    for priority, name in [(3, "c"), (1, "a"), (2, "b")]:
        queue.push(priority, Job(name))
    assert drained(queue) == ["a", "b", "c"]


def test_equal_priorities_keep_their_order():
    queue = JobQueue()
    for name in ("first", "second", "third"):
        queue.push(1, Job(name))
    assert drained(queue) == ["first", "second", "third"]


def test_an_empty_queue_says_so():
    with pytest.raises(IndexError, match="no job"):
        JobQueue().pop()
