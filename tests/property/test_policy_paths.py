"""What we call inside is inside, to the file system itself; every text gets an answer."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.errors import HitlError
from hitl.policy.paths import Root, pattern_anchor, search_within, within

LINUX = sys.platform == "linux"
NAMES = ["a", "b", "c", "jail", "out"]
LINKS = [".", "..", "../..", "a", "b/..", "../out", "../jail/a", "c", "missing", "/", "../jail"]
pieces = st.sampled_from([*NAMES, "..", ".", "", "missing", "~", "A"])
paths = st.lists(pieces, max_size=7).map("/".join)


@pytest.fixture(scope="module")
def world() -> Iterator[Path]:
    folder = Path(os.path.realpath(tempfile.mkdtemp()))
    yield folder
    shutil.rmtree(folder)


def build(world: Path, links: dict[str, str]) -> Root:
    """Make a jail with a tree in it, some of whose names are links to anywhere."""
    for old in list(world.iterdir()):
        old.unlink() if old.is_symlink() else shutil.rmtree(old)
    for folder in ("jail/a/b", "jail/b/c", "out/a/b"):
        (world / folder).mkdir(parents=True)
    for place, target in links.items():
        spot = world / place
        if spot.parent.is_dir() and not os.path.lexists(spot):
            spot.symlink_to(target)
    return Root("jail", str(world / "jail"))


worlds = st.dictionaries(
    st.sampled_from(["jail/c", "jail/a/c", "jail/a/b/a", "jail/b/a", "out/c", "c", "jail/out"]),
    st.sampled_from(LINKS),
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(worlds, paths)
def test_what_we_call_inside_is_inside_by_realpath(world, links, path):
    root = build(world, links)
    asked = f"{world}/{path}"
    real = os.path.realpath(asked)
    inside = (real + "/").startswith(root.folder + "/")
    if within(asked, root) is True:
        assert inside
    if within(asked, root) is False:
        assert not inside


@settings(max_examples=80, deadline=None)
@given(worlds, paths)
def test_what_the_opener_opens_is_inside_by_the_kernels_own_word(world, links, path):
    root = build(world, links)
    (world / "out/a/b/secret").write_text("secret")
    for folder in ("jail/a", "jail/a/b", "jail/b"):
        (world / folder / "file").write_text(folder)
    for name in (f"{path}/file", f"{path}/secret", path):
        try:
            file = root.open(name)
        except (HitlError, OSError):
            continue
        with file:
            assert file.read() != "secret"
            real = str(Path(f"/proc/self/fd/{file.fileno()}").readlink()) if LINUX else ""
            assert not real or real.startswith(root.folder + "/")


anything = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.binary(max_size=5)
    | st.text(max_size=30)
    | st.text(alphabet="/.\\~$%:ab *[]{}\x00\u202e\uff0f\ud800", max_size=20)
)


@given(anything, anything, st.booleans())
def test_any_value_gets_an_answer(path, pattern, subtree):
    root = Root("w", "/nowhere/w", base="/nowhere")
    assert within(path, root, subtree=subtree) in (True, False, None)
    assert search_within(path, pattern, root) in (True, False, None)
    anchor = pattern_anchor(pattern)
    assert anchor is None or isinstance(anchor, str)


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=6).map("/".join))
def test_without_a_disk_the_text_alone_is_judged_as_the_standard_library_reads_it(path):
    root = Root("a", "/a", real=False)
    answer = within(f"/{path}", root)
    if answer is not None:
        normal = os.path.normpath(f"/{path}")
        assert answer == (normal == "/a" or normal.startswith("/a/"))
