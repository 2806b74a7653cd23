"""A folder backend against the real file system: it opens what is inside, and nothing else."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.agent.deep.folder import FilesystemBackend
from hitl.agent.tool import ToolException

NAMES = ["a", "b", "c"]
names = st.sampled_from(NAMES)
paths = st.lists(names, min_size=1, max_size=4).map(tuple)
targets = st.one_of(
    st.lists(st.sampled_from([*NAMES, "..", "."]), min_size=1, max_size=5).map("/".join),
    st.lists(names, max_size=2).map(lambda parts: "ROOT/" + "/".join(parts)),
    st.sampled_from(["OUT", "OUT/file", "../outside", "../../outside/file", "/", "."]),
)
things = st.one_of(
    st.tuples(st.just("folder"), paths, st.just("")),
    st.tuples(st.just("file"), paths, st.just("")),
    st.tuples(st.just("link"), paths, targets),
)
trees = st.lists(things, max_size=8)


@contextmanager
def world(tree) -> Iterator[tuple[Path, Path]]:
    """Make a root with these things in it, beside a folder that nobody may touch."""
    top = Path(tempfile.mkdtemp(prefix="hitl-jail-")).resolve()
    try:
        root, outside = top / "root", top / "outside"
        root.mkdir()
        outside.mkdir()
        (outside / "file").write_text("outside")
        for kind, parts, target in tree:
            make(root, outside, kind, root.joinpath(*parts), target)
        yield root, outside
    finally:
        shutil.rmtree(top)


def make(root, outside, kind, place, target):
    above = place.parent
    if place.is_symlink() or place.exists() or not inside(above, root):
        return
    try:
        above.mkdir(parents=True, exist_ok=True)
        if kind == "folder":
            place.mkdir()
        elif kind == "file":
            place.write_text(str(place))
        else:
            place.symlink_to(target.replace("ROOT", str(root)).replace("OUT", str(outside)))
    except OSError:
        pass  # a file or a loop of links is in the way


def inside(place: Path, root: Path) -> bool:
    real = os.path.realpath(place)
    return real == str(root) or real.startswith(f"{root}/")


def image(folder: Path) -> dict:
    return {str(one): one.read_text() for one in sorted(folder.rglob("*"))}


def free(_: object) -> None:
    pass


def opened(place: Path, root: Path) -> str | None:
    """Return what the file system gives for a path that ends inside."""
    if not inside(place, root):
        return None
    try:
        return place.read_text()
    except OSError:
        return None


def leaves(place: Path, root: Path) -> bool:
    """Return whether following a path's links one by one goes outside, if only for a moment."""
    at, todo, links = root, list(reversed(place.relative_to(root).parts)), 0
    while todo:
        name = todo.pop()
        if name == "..":
            if at == root:
                return True
            at = at.parent
        elif (at / name).is_symlink():
            links += 1
            target = str((at / name).readlink())
            if links > 40:
                return True
            if target.startswith("/"):
                if not (target == str(root) or target.startswith(f"{root}/")):
                    return True
                at, target = root, target[len(str(root)) :]
            todo += [part for part in reversed(target.split("/")) if part not in ("", ".")]
        else:
            at = at / name
    return False


@given(trees, paths)
def test_what_is_read_is_what_the_file_system_has_inside_and_nothing_else(tree, parts):
    with world(tree) as (root, _):
        place = root.joinpath(*parts)
        wanted = None if leaves(place, root) else opened(place, root)
        backend = FilesystemBackend(root)
        try:
            found = backend.files({}).read(parts, free)
        except ToolException:
            found = None
        assert found == wanted
        if found is not None:
            resolved = backend.resolve(parts)
            assert resolved is not None
            assert str(root.joinpath(*resolved)) == os.path.realpath(place)


@given(trees, paths, st.sampled_from(["write", "delete"]))
def test_what_is_written_and_deleted_is_inside(tree, parts, what):
    with world(tree) as (root, outside):
        before = image(outside)
        judged: list[tuple] = []
        files = FilesystemBackend(root).files({})
        try:
            if what == "write":
                files.write(parts, "new", judged.append)
                real = root.joinpath(*judged[-1])
                assert real.read_text() == "new"
                assert os.path.realpath(real) == str(real)
            else:
                files.delete(parts, judged.append)
                assert not os.path.lexists(root.joinpath(*judged[0]))
        except ToolException:
            pass
        assert image(outside) == before
        assert not list(root.rglob(".hitl-*"))


@given(trees, paths)
def test_what_the_guard_refuses_is_not_changed_and_not_told(tree, parts):
    with world(tree) as (root, _):
        before = sorted(root.rglob("*"))

        def never(judged):
            raise ToolException(f"no: {judged}")

        files = FilesystemBackend(root).files({})
        for act in (
            lambda: files.read(parts, never),
            lambda: files.write(parts, "new", never),
            lambda: files.delete(parts, never),
            lambda: list(files.below(parts, never, deep=True)),
            lambda: list(files.texts(parts, never)),
        ):
            try:
                act()
                raise AssertionError("it was not refused")
            except ToolException:
                pass
        assert sorted(root.rglob("*")) == before


@given(trees)
@settings(max_examples=30)
def test_a_search_tells_each_file_inside_once_and_follows_no_link(tree):
    with world(tree) as (root, _):
        found = dict(FilesystemBackend(root).files({}).texts((), free))
        real = {
            one.relative_to(root).parts: one.read_text()
            for one in root.rglob("*")
            if one.is_file() and not one.is_symlink() and os.path.realpath(one) == str(one)
        }
        assert found == real


def test_a_link_that_is_put_there_while_it_walks_is_never_followed_out():
    with world([]) as (root, outside):
        (root / "a").mkdir()
        (root / "a" / "file").write_text("inside")
        (root / "kept").mkdir()
        (root / "kept" / "file").write_text("inside")
        stop = threading.Event()

        def swap():
            while not stop.is_set():
                (root / "a").rename(root / "away")
                (root / "a").symlink_to(outside)
                (root / "a").unlink()
                (root / "away").rename(root / "a")

        swapper = threading.Thread(target=swap)
        swapper.start()
        files = FilesystemBackend(root).files({})
        try:
            for number in range(400):
                try:
                    assert files.read(("a", "file"), free) in ("inside", "new")
                    if number % 4 == 0:
                        files.write(("a", "file"), "new", free)
                except ToolException:
                    pass
        finally:
            stop.set()
            swapper.join()
        assert image(outside) == {str(outside / "file"): "outside"}
