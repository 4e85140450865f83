"""The account that the servers run as: the user's own, or `nobody` for root."""

import ctypes
import os
import pwd
import signal
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from app.embedded.errors import EmbeddedError

# linux/prctl.h, linux/securebits.h, linux/capability.h
PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 4
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522

IS_LINUX = sys.platform == "linux"
SERVERS_GROUP = 39_471
"""The group of root's servers: of no account (Debian reserves its range), so no other process of `nobody` is in it."""


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int
    switch: bool = False  # we are root: switch to this account before running a server
    override: bool = False  # the account cannot reach its files: give it CAP_DAC_OVERRIDE


def reserved_account() -> Account | None:
    """The account that root's servers switch to; None for other users."""
    nobody = account_of_nobody()
    return nobody and Account(nobody.uid, SERVERS_GROUP, switch=True)


def account_of_nobody() -> Account | None:
    """The account of other processes of `nobody`, for root; None for other users."""
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedError(
            "Postgres refuses to run as root, and this machine has no account `nobody` to run it as: "
            "start as another user, or use your own Postgres and Redis."
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid)


def servers_account(needed: Iterable[Path]) -> Account:
    """The account to run the servers as, with access to the directories and programs in `needed`."""
    account = reserved_account()
    if account is None:
        return Account(os.geteuid(), os.getegid())
    within_reach = all(may_reach(account, path) for path in needed)
    return Account(account.uid, account.gid, switch=True, override=IS_LINUX and not within_reach)


def may_reach(account: Account, path: Path) -> bool:
    return all(_may_enter(account, step) for step in [path, *path.parents])


def _may_enter(account: Account, path: Path) -> bool:
    """Whether the permission bits let the account enter this directory or run this program."""
    found = path.stat()
    if found.st_uid == account.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


def entry_to(account: Account, death_signal: signal.Signals) -> Callable[[], None]:
    """A function for the child to call between fork and exec: switches to the account and asks for a signal when the
    parent dies.

    Everything is prepared here, in the parent: the child only makes system calls.
    """
    libc = ctypes.CDLL(None, use_errno=True) if IS_LINUX else None
    end_with_parent = ending_with_parent(death_signal)

    def enter() -> None:
        if account.switch:
            if account.override and libc is not None:
                # Keeps the capabilities across setuid, and makes access(2), which Postgres calls on its own program,
                # respect them.
                _check(libc.prctl(PR_SET_SECUREBITS, *_longs(SECBIT_NO_SETUID_FIXUP, 0, 0, 0)))
            os.setgroups([])
            os.setgid(account.gid)
            os.setuid(account.uid)
            if account.override and libc is not None:
                _keep_only_override(libc)
        os.umask(0o077)
        # After setuid, which clears the death signal.
        end_with_parent()

    return enter


def ending_with_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """A function for the child to call between fork and exec. On Linux the kernel then signals the child when the
    parent dies, even by SIGKILL. libc is loaded here, in the parent."""
    parent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True) if IS_LINUX else None

    def enter() -> None:
        if libc is not None:
            _check(libc.prctl(PR_SET_PDEATHSIG, *_longs(death_signal, 0, 0, 0)))
            if os.getppid() != parent:
                os._exit(1)

    return enter


def _keep_only_override(libc: ctypes.CDLL) -> None:
    """Drops every capability but one, and makes that one survive exec (ambient)."""
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    bit = 1 << CAP_DAC_OVERRIDE
    effective_permitted_inheritable = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    _check(libc.capset(header, effective_permitted_inheritable))
    _check(libc.prctl(PR_CAP_AMBIENT, *_longs(PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0)))


def _longs(*values: int) -> list[ctypes.c_ulong]:
    """prctl reads its arguments as longs; a plain int would leave half of each undefined."""
    return [ctypes.c_ulong(value) for value in values]


def _check(result: int) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
