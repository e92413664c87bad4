"""Authentication: passwords, signed tokens and sessions."""

from __future__ import annotations

import base64
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.paging.conftest import opened
from tests.servers.paging.test_ways import Clock, refused
from vez.servers.paging.accounts import TOKEN_S, Gate, account, basic
from vez.servers.paging.refusal import Refused
from vez.servers.paging.sessions import MemorySessions, SessionLimits, Sessions, StableSessions
from vez.servers.paging.signing import Signer, new_key

PASSWORD = "correct horse"  # noqa: S105
CHEAP = 2**4
"""A cost of scrypt at which a test can try hundreds of passwords."""
ACCOUNTS = {"ana": account("ana", PASSWORD, cost=CHEAP)}


def gate(clock: Clock | None = None) -> Gate:
    clock = clock or Clock()
    return Gate(ACCOUNTS, new_key(), MemorySessions(SessionLimits(sessions=3, last_s=100), clock), clock)


DOOR = gate()


def test_a_password_is_checked_with_every_request() -> None:
    door = gate()
    assert [door.who(basic("ana", PASSWORD)) for _ in range(5)] == ["ana"] * 5
    assert (door.checks.passwords, door.checks.signatures, door.checks.look_ups) == (5, 0, 0)


@pytest.mark.parametrize("remember", [True, False])
def test_a_session_or_a_token_needs_the_password_once(remember: bool) -> None:
    door = gate()
    secret = door.log_in(basic("ana", PASSWORD), remember=remember)
    assert [door.who(f"Bearer {secret}") for _ in range(5)] == ["ana"] * 5
    assert (door.checks.passwords, door.checks.signatures, door.checks.look_ups) == (
        (1, 0, 5) if remember else (1, 5, 0)
    )


def test_a_session_ends_at_once_and_a_token_only_when_it_expires() -> None:
    clock = Clock()
    door = gate(clock)
    session = door.log_in(basic("ana", PASSWORD), remember=True)
    token = door.log_in(basic("ana", PASSWORD), remember=False)
    assert door.log_out(f"Bearer {session}")
    assert not door.log_out(f"Bearer {token}")
    refused(401, lambda: door.who(f"Bearer {session}"))
    assert door.who(f"Bearer {token}") == "ana"
    clock.now += TOKEN_S + 1
    refused(401, lambda: door.who(f"Bearer {token}"))


def test_sessions_expire_and_are_limited(database: str) -> None:
    with opened(database) as store:
        for kind in ("memory", "stable"):
            clock, limits = Clock(), SessionLimits(sessions=3, last_s=100)
            sessions: Sessions = (
                MemorySessions(limits, clock) if kind == "memory" else StableSessions(store, limits, clock)
            )
            names = [sessions.begin("ana") for _ in range(3)]
            refused(503, partial(sessions.begin, "ana"))
            assert [sessions.find(name) for name in names] == ["ana"] * 3
            assert sessions.end(names[0])
            assert not sessions.end(names[0])
            assert sessions.find(names[0]) is None
            clock.now += 101
            assert sessions.find(names[1]) is None
            for _ in range(3):
                sessions.begin("bia")


def test_a_stable_session_is_known_to_every_server_and_its_name_is_not_in_the_table(database: str) -> None:
    with opened(database) as one, opened(database) as other:
        name = StableSessions(one, SessionLimits()).begin("ana")
        assert StableSessions(other, SessionLimits()).find(name) == "ana"
        with one.connection() as connection:
            kept = connection.execute("SELECT name FROM paging_session").fetchall()
    assert all(name not in row[0] for row in kept)


@pytest.mark.parametrize(
    "header",
    [
        None, "", "Basic", "Bearer", "Digest abc", "Basic !!!", basic("ana", "wrong"), basic("eve", PASSWORD),
        basic("nobody", ""), basic("ana", ""), "Basic " + base64.b64encode(b"\xff\xfe").decode(), "Basic " + "A" * 5000,
        "Bearer s.unknown",
    ],
)  # fmt: skip
def test_whoever_cannot_say_who_they_are_is_refused(header: str | None) -> None:
    refused(401, lambda: gate().who(header))


def test_a_long_header_costs_no_check_of_a_password() -> None:
    door = gate()
    refused(401, lambda: door.who(basic("ana", PASSWORD + "x" * 5000)))
    assert door.checks.passwords == 0


def test_a_cursor_is_no_token_and_a_token_of_another_key_is_none_either() -> None:
    door = gate()
    foreign = gate().log_in(basic("ana", PASSWORD), remember=False)
    cursor = Signer(new_key(), "cursor").sign(ACCOUNTS["ana"])
    for text in (foreign, cursor):
        refused(401, partial(door.who, f"Bearer {text}"))


@given(st.text(max_size=80))
def test_a_header_from_outside_is_refused_and_never_raises_anything_else(text: str) -> None:
    for header in (text, f"Basic {text}", f"Bearer {text}", f"Bearer s.{text}"):
        with pytest.raises(Refused):
            DOOR.who(header)
