import pytest

from lmcourse.errors import CourseError
from lmcourse.schedules import KINDS, Schedule, branched, extended, factor


def same_past(old, new, taken):
    return all(factor(old, s) == factor(new, s) for s in range(taken))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("warmup", [0, 7, 90])
@pytest.mark.parametrize("total", [60, 100, 101, 250])
def test_an_extension_is_allowed_exactly_where_the_past_stays_the_same(kind, warmup, total):
    old = Schedule(kind, 100, warmup=warmup, decay=0.3)
    new = Schedule(kind, total, warmup=warmup, decay=0.3)
    for taken in range(min(total, 100) + 1):
        if same_past(old, new, taken):
            assert extended(old, total, taken) == new
        else:
            with pytest.raises(CourseError, match="from a checkpoint of at most"):
                extended(old, total, taken)


def test_a_finished_run_says_which_checkpoint_can_go_on():
    with pytest.raises(CourseError, match="at most 71 steps"):
        extended(Schedule("wsd", 100, decay=0.3), 200, taken=100)
    with pytest.raises(CourseError, match="at most 11 steps"):
        extended(Schedule("cosine", 100, warmup=10), 200, taken=100)
    assert extended(Schedule("constant", 100), 200, taken=100).total == 200


def test_a_run_cannot_end_before_what_it_has_done():
    with pytest.raises(CourseError, match="50 steps are taken already"):
        extended(Schedule("constant", 100), 40, taken=50)


@pytest.mark.parametrize("kind", ["wsd", "constant", "steps"])
@pytest.mark.parametrize(("taken", "decay_steps"), [(10, 1), (33, 7), (61, 30), (70, 1000)])
def test_a_branch_keeps_the_past_and_takes_the_decay_steps_asked_for(kind, taken, decay_steps):
    trunk = Schedule(kind, 100, warmup=10, decay=0.3)
    branch = branched(trunk, taken, decay_steps, shape="sqrt")
    assert same_past(trunk, branch, taken)
    assert branch.total == taken + decay_steps and branch.decay_start == taken
    assert factor(branch, taken) == 1.0 and factor(branch, branch.total) == 0.0


@pytest.mark.parametrize(("kind", "taken"), [("wsd", 9), ("wsd", 72), ("cosine", 12), ("steps", 81)])
def test_off_the_plateau_there_is_no_branch(kind, taken):
    with pytest.raises(CourseError, match=r"at its peak from step 10 to .* take another"):
        branched(Schedule(kind, 100, warmup=10, decay=0.3), taken, 20)


def test_a_branch_of_no_steps_is_refused():
    with pytest.raises(CourseError, match="decay_steps"):
        branched(Schedule("constant", 100), 50, 0)
