"""Recording cases from solutions, and the file they are kept in."""

import pytest
import torch

from lmcourse.checks.tables import Table, dump_table, load_table, parse_table, record_case


def double_first(numbers, scale):
    result = numbers.clone()
    result[0] *= scale
    return result


def doubles_all(numbers, scale):
    return numbers * scale


def uses_global_rng(numbers, scale):
    return numbers + torch.randint(100, numbers.shape)


def crashes(numbers, scale):
    raise IndexError("no")


def arguments():
    return torch.tensor([3, -1, 4]), 2


def record(**changes):
    mutants = [
        ("same here", "never shown", {"double_first": lambda numbers, scale: double_first(numbers, 2)}),
        ("all", "You scaled every element.", {"double_first": doubles_all}),
        ("random", "You drew from the global generator.", {"double_first": uses_global_rng}),
        ("crash", "never shown", {"double_first": crashes}),
    ]
    case = {
        "title": "three numbers",
        "checks": "the first one is scaled",
        "entry": "double_first",
        "args": arguments,
        "reference": {"double_first": double_first, "share": 0.25},
        "mutants": mutants,
        **changes,
    }
    return record_case(**case)


def test_arguments_get_the_names_of_the_reference_and_are_fresh():
    case = record()
    first, second = case.arguments(), case.arguments()
    assert list(first) == ["numbers", "scale"]
    assert first["numbers"].tolist() == [3, -1, 4] and first["scale"] == 2
    first["numbers"][0] = 99
    assert second["numbers"][0] == 3


def test_only_mutants_that_differ_on_these_inputs_leave_a_mark():
    assert [mistake.name for mistake in record().mistakes] == ["all", "random"]


def test_a_variable_has_no_arguments():
    case = record(entry="share", args=tuple, mutants=[("half", "Half.", {"share": 0.5})])
    assert not case.is_call and case.expected == 0.25
    assert case.mistakes[0].value == 0.5


def test_recording_leaves_the_global_generators_alone():
    before = torch.random.get_rng_state()
    record()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_same_bytes_every_time_and_back():
    table = Table("W1", {"W1.4": (record(), record(entry="share", args=tuple, mutants=[]))})
    text = dump_table(table)
    assert text == dump_table(
        Table("W1", {"W1.4": (record(), record(entry="share", args=tuple, mutants=[]))})
    )
    assert parse_table(text) == table
    assert dump_table(parse_table(text)) == text


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="format 99"):
        parse_table('{"format": 99, "week": "W1", "exercises": {}}')


def test_a_week_without_a_table_has_no_cases(tmp_path, monkeypatch):
    monkeypatch.setattr("lmcourse.checks.tables.files", lambda package: tmp_path)
    assert load_table("W1") == Table("W1")
