"""Where the solver of linear programs is: HiGHS, in the package highsbox. The core asks once a call needs it."""

from __future__ import annotations

import os

from vgpualloc._tables import _needed

_USERS = {"--bound": "bound=True"}  # what the core calls by a flag


def library_for(user: str) -> bytes:
    """The path of HiGHS's library; ``ImportError`` for ``user`` where it is not there."""
    folder = _needed("highsbox", _USERS.get(user, user), "solver").highs_lib_dir()
    return os.fsencode(os.path.join(folder, "libhighs.so"))
