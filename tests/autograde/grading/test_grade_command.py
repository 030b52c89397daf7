"""`autograde grade` from the command line: mistakes of the user."""

import pytest

from autograde.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["W99", "--submissions", "{tmp}"], "there is no week 'W99'"),
        (["W0", "--submissions", "{tmp}/none"], "does not exist"),
        (["W0", "--submissions", "{tmp}"], "holds no submissions"),
        (["W0", "--submissions", "{tmp}/file"], "is no folder"),
        (["W0", "--submissions", "{tmp}", "--jobs", "0"], "--jobs must be 1 or more"),
        (["W0", "--submissions", "{tmp}", "--time-limit", "nan"], "--time-limit must lie"),
        (["W0", "--submissions", "{tmp}", "--time-limit", "-3"], "--time-limit must lie"),
    ],
)
def test_a_users_mistake_is_one_line_and_status_2(tmp_path, capsys, arguments, words):
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "file").write_text("")
    if "{tmp}/file" not in arguments:
        (folder / "file").unlink()
    status = main(["grade", *(a.replace("{tmp}", str(folder)) for a in arguments)])
    said = capsys.readouterr()
    assert status == 2 and words in said.err
    assert said.err.count("\n") == 1 and said.err.startswith("autograde: ") and not said.out
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("arguments", [["grade"], ["grade", "W1"], ["grade", "W1", "--submissions"]])
def test_missing_arguments_are_one_line_that_names_the_help(capsys, arguments):
    with pytest.raises(SystemExit) as info:
        main(arguments)
    said = capsys.readouterr().err
    assert info.value.code == 2 and said.count("\n") == 1 and said.endswith("see autograde grade --help\n")
