"""Roots: what a path means to them, and opening below them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from hitl.errors import Misuse, OutsideRoot
from hitl.policy.path_text import read_path
from hitl.policy.paths import Root, pattern_anchor, within


def text_root(folder="/w", **options) -> Root:
    return Root("w", folder, real=False, **options)


@pytest.mark.parametrize("folder", ["", "~/x", "$HOME/x", "/w\\x", "/w/%2e", "/a\0b", None, 7])
def test_a_folder_that_can_mean_several_places_is_refused(folder):
    with pytest.raises(Misuse, match="root 'w'"):
        Root("w", folder)


def test_a_relative_folder_starts_where_the_process_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert within(f"{tmp_path}/w/a", Root("w", "w")) is True


def test_a_relative_path_is_known_only_with_a_base():
    assert within("a/b", text_root()) is None
    assert within("a/b", text_root(base="/w")) is True
    assert within("w/b", text_root(base="/")) is True
    assert within("a/b", text_root(base="/x")) is False
    assert within("../w/b", text_root(base="/x")) is None


@pytest.mark.parametrize(
    ("path", "folds", "exact", "unknown"),
    [
        ("/w/x", True, True, True),
        ("/W/x", True, False, None),
        ("/v/x", False, False, False),
    ],
)
def test_case_counts_as_the_root_says(path, folds, exact, unknown):
    assert within(path, text_root(case_fold=True)) is folds
    assert within(path, text_root(case_fold=False)) is exact
    assert within(path, text_root(case_fold=None)) is unknown


@pytest.mark.parametrize(
    ("folder", "path", "folds", "exact"),
    [
        ("/caf\u00e9", "/cafe\u0301/x", True, None),
        ("/STRASSE", "/stra\u00dfe/x", None, False),
        ("/k", "/\u212a/x", True, False),
        ("/\u03c3", "/\u03c2/x", None, False),
    ],
)
def test_forms_of_one_letter_are_told_apart_only_where_the_disk_does(folder, path, folds, exact):
    if read_path(path) is None:
        pytest.fail("the path is plain")
    assert within(path, text_root(folder, case_fold=True)) is folds
    assert within(path, text_root(folder, case_fold=False)) is exact


def test_a_subtree_above_the_root_is_partly_inside():
    root = text_root("/w/src")
    assert within("/w", root, subtree=True) is None
    assert within("/", root, subtree=True) is None
    assert within("/w/src/a", root, subtree=True) is True
    assert within("/v", root, subtree=True) is False
    assert within("/w", root) is False


def test_a_root_behind_a_link_is_known_by_both_names(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "name").symlink_to(tmp_path / "real")
    root = Root("w", str(tmp_path / "name"))
    assert within(f"{tmp_path}/name/a", root) is True
    assert within(f"{tmp_path}/real/a", root) is True
    assert within(f"{tmp_path}/other/a", root) is False


def test_a_link_from_outside_into_the_root_is_not_known(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "side").symlink_to(tmp_path / "w")
    assert within(f"{tmp_path}/side/a", Root("w", str(tmp_path / "w"))) is None


def test_a_component_that_is_no_folder_leads_nowhere(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w/file").write_text("")
    assert within(f"{tmp_path}/w/file/x", Root("w", str(tmp_path / "w"))) in (True, None)
    assert within(f"{tmp_path}/w/" + "a" * 300, Root("w", str(tmp_path / "w"))) is None


@pytest.mark.parametrize(
    ("pattern", "anchor"),
    [
        ("*.py", ""),
        ("src/*.py", "src"),
        ("/src/**/x", "/src"),
        ("/**/x", "/"),
        ("/src/a.txt", "/src/a.txt"),
        ("/src/{a,b}/c", "/src"),
        ("/src/[ab]", "/src"),
        ("../x", None),
        ("a/../b", None),
        ("{/etc,a}/x", None),
        ("{a,/etc}/x", None),
        ("~/x", None),
        (None, None),
        ("", None),
    ],
)
def test_a_pattern_has_an_anchor(pattern, anchor):
    assert pattern_anchor(pattern) == anchor


@pytest.fixture
def root(tmp_path) -> Root:
    (tmp_path / "w/sub").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "w/a.txt").write_text("inside")
    (tmp_path / "w/link").symlink_to(tmp_path / "secret")
    (tmp_path / "w/door").symlink_to(tmp_path)
    (tmp_path / "w/near").symlink_to("a.txt")
    return Root("w", str(tmp_path / "w"))


def test_a_file_below_a_root_is_opened_by_either_name(root):
    for path in ("a.txt", "./a.txt", f"{root.folder}/a.txt"):
        with root.open(path) as file:
            assert file.read() == "inside"


def test_a_file_is_written_and_text_is_utf_8(root):
    with root.open("sub/new.txt", "x") as file:
        file.write("é")
    with root.open("sub/new.txt", "rb") as file:
        assert file.read() == "é".encode()


@pytest.mark.parametrize(
    "path",
    ["link", "near", "door/secret", "../secret", "sub/../../secret", "/etc/passwd", "~", "", ".",
     "sub", "a\0b", "C:x"],
)  # fmt: skip
def test_nothing_outside_and_no_link_is_opened(root, path):
    for mode in ("r", "w", "a"):
        with pytest.raises((OutsideRoot, IsADirectoryError)):
            root.open(path, mode)
    assert (Path(root.folder).parent / "secret").read_text() == "secret"


def test_the_error_is_a_permission_error_and_says_which_component(root):
    with pytest.raises(PermissionError, match=r"'door' in 'door/secret' is a link"):
        root.open("door/secret")


def test_a_missing_file_is_a_missing_file(root):
    with pytest.raises(FileNotFoundError):
        root.open("sub/missing")
    with pytest.raises(NotADirectoryError):
        root.open("a.txt/x")


def test_a_pipe_does_not_block(root):
    os.mkfifo(f"{root.folder}/pipe")
    with pytest.raises(OutsideRoot, match="no ordinary file"):
        root.open("pipe")


def test_a_held_folder_serves_what_is_not_opening(root):
    with root.holding("sub/made") as (folder, name):
        os.mkdir(name, dir_fd=folder)
    assert Path(root.folder, "sub/made").is_dir()
    with root.holding("a.txt") as (folder, name):
        os.unlink(name, dir_fd=folder)
    assert not Path(root.folder, "a.txt").exists()
    with pytest.raises(OutsideRoot), root.holding("door/x"):
        pytest.fail("the link was followed")


def open_descriptors() -> int:
    shown = Path("/proc/self/fd")
    return len(list(shown.iterdir())) if shown.exists() else 0


def test_no_descriptor_is_left_open(root):
    before = open_descriptors()
    for path in ("a.txt", "link", "door/secret", "sub/missing", "missing/x"):
        try:
            root.open(path).close()
        except OSError:
            continue
    assert open_descriptors() == before


def test_a_root_that_becomes_a_link_is_not_followed(root, tmp_path):
    (tmp_path / "w").rename(tmp_path / "v")
    (tmp_path / "w").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError):
        root.open("secret")
    assert within(f"{tmp_path}/w/secret", root) is None


def test_swapping_a_folder_for_a_link_never_leads_outside(root, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/file").write_text("secret")
    (tmp_path / "w/sub/file").write_text("inside")
    sub, aside = tmp_path / "w/sub", tmp_path / "w/aside"
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            sub.rename(aside)
            sub.symlink_to(tmp_path / "out")
            sub.unlink()
            aside.rename(sub)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        for _ in range(2000):
            try:
                with root.open("sub/file") as file:
                    seen.add(file.read())
            except OSError:
                continue
    finally:
        done.set()
        swapper.join()
    assert "secret" not in seen


def test_a_system_that_cannot_open_relative_to_a_folder_says_so(root, monkeypatch):
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(Misuse, match="relative to an open folder"):
        root.open("a.txt")
