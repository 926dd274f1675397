"""The walk through a page notices what does not hold; and what it is not told to leave out, it carries out."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.pages import PageError, blocks_of
from support.walk import Walk, WalkError, rewritten

FENCE = "```"


def walked(text: str, folder: Path, *, slow: bool = False, write: bool = False) -> Walk:
    walk = Walk(text, folder, slow=slow)
    walk.walk(write=write)
    return walk


def python(code: str) -> str:
    return f"{FENCE}python\n{code}\n{FENCE}\n"


GOOD = f"""
Save this as `a.py`:

{python("print('it is', 6 * 7)")}
It prints:

<!-- output -->

    it is 42

The shell keeps folders, variables and jobs:

    mkdir -p there && cd there
    name=value; sleep 100 &

    test "$(basename "$PWD")" = there && test $name = value && kill %1 && ! ls ../there/nothing

Python has one name space, in that folder:

{python("from pathlib import Path" + chr(10) + "here = Path.cwd().name")}
{python("assert here == 'there', here")}
{python(">>> 2 ** 7" + chr(10) + "128")}
<!-- fails -->

    $ ls nowhere
    ls: cannot access 'no...': No such file or directory

<!-- not run: it would not end -->

    sleep 1000
"""


def test_a_page_that_holds(tmp_path: Path) -> None:
    assert walked(GOOD, tmp_path).ran == 6
    assert (tmp_path / "page" / "there").is_dir()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("6 * 7", "6 * 8", "run `make figures`"),
        ("it is 42", "it was 42", "which is not in what was printed"),
        ("<!-- output -->\n", "", "exit code 127"),
        ("6 * 7", "6 * undefined", "NameError"),
        ("test $name = value", "test $name = other", "exit code 1"),
        ("mkdir -p there && cd there", "cofit no-such-command; mkdir -p there && cd there", "exit code 2"),
        ("'there', here", "'elsewhere', here", "AssertionError"),
        ("128", "127", "run `make figures`"),
        ("ls nowhere", "ls .", "it must fail, and did not"),
        ("<!-- fails -->", "", "exit code 2"),
        ("cannot access", "can access", "which is not in what was printed"),
    ],
)
def test_what_no_longer_holds_is_noticed(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(WalkError, match=r"^line ") as caught:
        walked(GOOD.replace(old, new), tmp_path)
    assert message in str(caught.value)


def test_every_walk_has_modules_of_its_own(tmp_path: Path) -> None:
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        used = python(f"import walked_module\nassert walked_module.x == {number}")
        text = f"Save this as `walked_module.py`:\n\n{python(f'x = {number}')}\n{used}"
        walked(text, tmp_path / number)


def test_stale_numbers_are_rewritten(tmp_path: Path) -> None:
    text = "    echo '50  rounds, 1,234 bytes and text'\n\n<!-- output -->\n\n    58  rounds, 1,000\n    text\n"
    walk = walked(text, tmp_path, write=True)
    assert rewritten(text, walk.stale) == text.replace("58  rounds, 1,000", "50  rounds, 1,234")


def test_words_are_never_rewritten(tmp_path: Path) -> None:
    with pytest.raises(WalkError, match="not in what was printed"):
        walked("    echo 50 rounds\n\n<!-- output -->\n\n    50 steps\n", tmp_path, write=True)


def test_numbers_that_vary(tmp_path: Path) -> None:
    text = "    echo at 2026-01-02T03:04Z [1.5] of 3f0c rows\n\n<!-- output; numbers vary: noise -->\n\n"
    text += "    at 2027Z [2.5] of {}\n"
    walked(text.format("9e rows"), tmp_path)
    with pytest.raises(WalkError):
        walked(text.format("9e columns"), tmp_path.with_name("other"), write=True)


def test_questions_are_answered_at_a_terminal(tmp_path: Path) -> None:
    """Without the mark there is neither a terminal nor an answer."""
    ask = 'test -t 0 && read -r -p "Sure? " said && echo "You said $said"'
    text = f"<!-- answers: yes -->\n\n    {ask}\n    {ask}\n\n<!-- output -->\n\n    You said yes\n"
    for name in ("with", "without", "no"):
        (tmp_path / name).mkdir()
    walked(text, tmp_path / "with")
    with pytest.raises(WalkError, match="exit code 1"):
        walked(text.partition("-->\n\n")[2], tmp_path / "without")
    with pytest.raises(WalkError, match="which is not in what was printed"):
        walked(text.replace("answers: yes", "answers: no"), tmp_path / "no")


def test_slow_parts(tmp_path: Path) -> None:
    text = "    true\n\n<!-- slow from here: long -->\n\n    false\n"
    assert walked(text, tmp_path).ran == 1
    with pytest.raises(WalkError, match="line 5"):
        walked(text, tmp_path.with_name("slow"), slow=True)


def test_values_in_a_party_program(tmp_path: Path) -> None:
    prepared = tmp_path / "prepared.py"
    prepared.write_text(
        "import numpy as np, cofit\n"
        "owners = {'o': {'x': cofit.Contribution(np.array([1.0]), bound=2.0)}}\n"
        "names = lambda party: {'x': party.input('o', 'x')}\n"
    )
    text = "<!-- values in a party program: x = 2 * x -->\n\n    y = x + x  bound {}\n    y * 2**60  RangeError: A\n"
    for folder in ("good", "bad"):
        (tmp_path / folder).mkdir()
    Walk(text.format(8), tmp_path / "good", prepared).walk()
    with pytest.raises(WalkError, match="and not bound 9"):
        Walk(text.format(9), tmp_path / "bad", prepared).walk()


def test_a_change_of_a_toml_file(tmp_path: Path) -> None:
    text = f"""Save this as `s.toml`:

{FENCE}toml
name = "s"
[compute]
scheme = "rep3"
[[parties]]
name = "a"
[[parties]]
name = "b"
{FENCE}

<!-- changes s.toml, without b -->
{FENCE}toml
[compute]
scheme = "semi2k"
{FENCE}
"""
    walked(text, tmp_path)
    assert (tmp_path / "page" / "s.toml").read_text() == (
        'name = "s"\n[[parties]]\nname = "a"\n[compute]\nscheme = "semi2k"\n'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- not run: -->\n\n    ls\n", "needs a reason"),
        ("<!-- not run -->\n\n    ls\n", "needs a reason"),
        ("<!-- output -->\n\nNo block.\n", "has no block"),
        ("<!-- fails -->\n", "has no block"),
        ("<!-- fails -->\n<!-- output -->\n\n    ls\n", "two marks"),
        ("<!-- ouptut -->\n\n    ls\n", "no such mark"),
        (f"{FENCE}bash\nls\n{FENCE}\n", "language"),
        (f"{FENCE}python\nls\n", "does not end"),
    ],
)
def test_marks_that_cannot_be_meant(text: str, message: str) -> None:
    with pytest.raises(PageError, match=message):
        blocks_of(text)
