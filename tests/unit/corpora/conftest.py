"""Files of made-up content."""

from pathlib import Path

import pytest


@pytest.fixture
def save(tmp_path):
    """Save text, or bytes, under a name; its path."""

    def saved(content: str | bytes, name: str = "file") -> Path:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return saved
