"""Each error ends with the exit code that the documents promise."""

from __future__ import annotations

import pytest

from hitl import errors
from hitl.cli.codes import MEANINGS, code_of

CODES = {
    errors.Misuse: 2,
    errors.UnknownId: 2,
    errors.WrongAnswer: 2,
    errors.Conflict: 4,
    errors.AlreadyDecided: 4,
    errors.Busy: 4,
    errors.Refused: 5,
    errors.NotAllowed: 5,
    errors.OutcomeUnknown: 5,
    errors.Stale: 5,
    errors.StoreFailed: 6,
    errors.Damaged: 6,
    errors.NewerStore: 6,
    errors.Broken: 1,
}


@pytest.mark.parametrize(("kind", "code"), CODES.items())
def test_an_error_has_its_code(kind, code):
    assert code_of(kind("what")) == code


def test_other_errors_are_failures_of_the_run():
    assert code_of(RuntimeError()) == 1
    assert code_of(KeyboardInterrupt()) == 130


def test_a_closed_item_is_refused_not_unknown():
    assert code_of(errors.UnknownId("closed", state="superseded")) == 5


def test_the_documents_tell_the_same_codes(root):
    page = (root / "docs" / "cli.md").read_text(encoding="utf-8")
    for code, meaning in MEANINGS.items():
        assert f"| {code} | {meaning} |" in page


@pytest.fixture
def root(request):
    return request.config.rootpath
