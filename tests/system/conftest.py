"""What whole-system tests share: real processes."""

from collections.abc import Iterator

import pytest

from support.nursery import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A program that makes processes."""
    made = Nursery()
    yield made
    made.close()
