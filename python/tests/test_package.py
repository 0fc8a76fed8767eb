"""The files of the package that are not code."""

from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["LICENSE-MIT", "LICENSE-APACHE"])
def test_licences_are_the_same_as_in_the_root(name):
    original = PACKAGE.parent / name
    if not original.exists():
        pytest.skip("this is not a checkout of readmill")
    copy = PACKAGE / name
    assert not copy.is_symlink() and copy.read_bytes() == original.read_bytes()
    assert f'"{name}"' in (PACKAGE / "pyproject.toml").read_text()
