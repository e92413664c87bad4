"""Settings: parses the URL of a group of programs.

    peers://127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003?algorithm=raymond&me=2&key_file=group.key
    peers:group.toml?algorithm=raymond&me=2            a group file of `vez node`

Members of a list are numbered from 1, in the order of the ring. Options that are not listed in `OPTIONS` are parameters
of the algorithm.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from vez.catalogue.load import is_listed, load_algorithm
from vez.core.assumptions import Assumption
from vez.core.detectors import MONITORS
from vez.core.detectors import Settings as DetectorSettings
from vez.core.overrides import longest_stay_ms
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.core.topology import Ring
from vez.errors import Misuse, UnknownName
from vez.locks.peers.eligible import check_algorithm
from vez.worlds.node.group import KEY_BYTES, Group, Tls, listed_group, load_group, read_key
from vez.worlds.sim.scenario import Scenario
from vez.worlds.sim.setup import Setup

SCHEME = "peers"
EXAMPLE = "peers://127.0.0.1:7001,127.0.0.1:7002?algorithm=raymond&me=1&key_file=group.key"
OPTIONS = {
    "algorithm": "a name of the catalogue, or path/to/file.py:Class",
    "me": "the number of this member",
    "group": "the name of the group, with a list of addresses",
    "key_file": "a file of 32 random bytes or more, for TCP on loopback",
    "authority": "certificate of the authority (TLS)",
    "certificate": "certificate of this member (TLS); {id} stands for its number",
    "certificate_key": "its key (TLS)",
    "state": "a directory in which durable fields are kept",
    "names": "how many names this member may use",
    "time_scale": "how many times as long the algorithm's timers take",
    "join": "seconds until a group that is not complete begins without the others, if the algorithm allows it",
    "reply": "seconds that a request with a timeout of 0 waits for the answers of the group",
    "detector": "failure detector, for algorithms that listen to one",
    "beat_ms": "heartbeat interval",
    "suspect_ms": "silence after which a member is taken for dead",
}
"""Options of the URL and what they mean."""
_TLS = ("authority", "certificate", "certificate_key")
MOST_NAMES = 100_000
LARGEST = 1_000_000_000
"""The largest value of an option that is a number."""
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?(e[+-]?[0-9]{1,2})?", re.IGNORECASE)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The checked values of a URL."""

    url: str
    group: Group
    me: int
    algorithm: str
    setup: Setup
    state: Path | None = None
    names: int = 1000
    time_scale: float = 100.0
    """Factor for the timers of the algorithm. The catalogue counts in message times of about a millisecond; a busy
    machine needs longer."""
    join_s: float = 10.0
    reply_s: float = 1.0
    detector: str = "heartbeat"
    detector_settings: DetectorSettings = DetectorSettings(interval_ms=100, timeout_ms=1000, step_ms=500)

    @property
    def kind(self) -> type[Process]:
        """The class of the algorithm."""
        return self.setup.algorithm

    @property
    def peers(self) -> tuple[int, ...]:
        """The other members."""
        return self.setup.topology.peers(self.me)

    @property
    def detects(self) -> bool:
        """True if the algorithm uses a failure detector, and there is one."""
        return self.detector != "none" and hasattr(self.kind, "on_suspect")

    @property
    def needs_all(self) -> bool:
        """True if the algorithm can wait for ever when one member is missing."""
        return Assumption.NO_CRASHES in self.kind.assumes

    @property
    def pace_ms(self) -> float:
        """Milliseconds for which a member without a request delays a token before it passes it on; 0 for no delay.

        A token that circulates without delay would keep all processors busy. A channel may be slow, unless the
        algorithm relies on its bounds or on its order.
        """
        assumes = self.kind.assumes
        idles = self.kind.topology is Ring and self.kind.role == "mutex"
        return 1.0 if idles and not {Assumption.KNOWN_BOUNDS, Assumption.FIFO} & set(assumes) else 0.0

    def no_return(self, member: int) -> str:
        """Reason why the other members refuse this member after a restart; empty if they accept it."""
        kind, assumes = self.kind, self.kind.assumes
        told = f"{started_anew(member)} while the others went on"
        for assumption in (Assumption.NO_CRASHES, Assumption.NO_RECOVERY):
            if assumption in assumes:
                return f"{told}, and {self.algorithm} assumes that {assumption.meaning}: start all members anew"
        if Assumption.HUB_STAYS in assumes and member == self.setup.topology.hub:
            return f"{told}, and {self.algorithm} assumes that {Assumption.HUB_STAYS.meaning}: start all members anew"
        if marked(kind, DURABLE) and self.state is None:
            return f"{told}, and has forgotten what {self.algorithm} must remember: give all members state=DIRECTORY"
        return ""


def started_anew(member: int) -> str:
    """The beginning of the reason for which other members refuse a restarted member."""
    return f"member {member} was started anew"


def glance(url: str) -> Settings | None:
    """The settings of a URL, except its key: no file is read. None if its group is in a file, or its algorithm is not
    of the catalogue. Raises `Misuse` for what can be seen without files."""
    where, given = _parts(url)
    if not _is_list(where) or ("algorithm" in given and not is_listed(given["algorithm"])):
        return None
    return read_url(url, files=False)


def _parts(url: str) -> tuple[str, dict[str, str]]:
    where, _, query = url.partition(":")[2].partition("?")
    return where, _options(query)


def read_url(url: str, *, files: bool = True) -> Settings:
    """The settings of a URL. Raises `Misuse` if the URL is not valid. If `files` is false, the key is not read."""
    where, given = _parts(url)
    for needed in ("algorithm", "me"):
        if needed not in given:
            raise Misuse(f"{SCHEME}: the URL does not say {needed}=", hint=f"for example {EXAMPLE}")
    name = given["algorithm"]
    algorithm = check_algorithm(name, load_algorithm(name))
    group = _group(where, given, files=files)
    parameters = {key: _value(text) for key, text in given.items() if key not in OPTIONS}
    _refuse_unknown(name, algorithm, parameters)
    setup = Setup(Scenario(algorithm=name, ids=group.ids, parameters=parameters), algorithm)
    me = _whole(given, "me", 0)
    if me not in group.addresses:
        raise Misuse(f"me={me} is not a member of the group", hint=f"members: {', '.join(map(str, group.ids))}")
    if longest_stay_ms(setup.process(me)) == 0:
        raise Misuse(
            f"with these parameters a lock by {name} would be lost at once: its longest stay is 0 ms",
            hint=f"`vez algorithms {name}` says what its parameters mean",
        )
    suspect_ms = _number(given, "suspect_ms", 1000, least=1)
    beat_ms = _number(given, "beat_ms", 100, least=1)
    detector = given.get("detector", "heartbeat")
    if detector not in ("none", *MONITORS):
        raise UnknownName("detector", detector, ("none", *MONITORS))
    if detector == "heartbeat" and beat_ms >= suspect_ms:
        raise Misuse(
            f"beat_ms={beat_ms:g} is not below suspect_ms={suspect_ms:g}: every member would be taken for dead",
            hint="several heartbeats should fit into suspect_ms",
        )
    names = _whole(given, "names", 1000)
    if not 1 <= names <= MOST_NAMES:
        raise Misuse(f"names={names}, expected 1 to {MOST_NAMES}")
    return Settings(
        url=url,
        group=group,
        me=me,
        algorithm=name,
        setup=setup,
        state=Path(given["state"]) if "state" in given else None,
        names=names,
        time_scale=_number(given, "time_scale", 100, least=0.001),
        join_s=_number(given, "join", 10),
        reply_s=_number(given, "reply", 1),
        detector=detector,
        detector_settings=DetectorSettings(interval_ms=beat_ms, timeout_ms=suspect_ms, step_ms=suspect_ms / 2),
    )


def _options(query: str) -> dict[str, str]:
    given: dict[str, str] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError as error:
        raise Misuse(f"{SCHEME}: the options {query[:80]!r} cannot be read: {error}", hint=f"as in {EXAMPLE}") from None
    for key, text in pairs:
        if key in given:
            raise Misuse(f"{SCHEME}: the option {key} is given twice")
        if key in OPTIONS and not text:
            raise Misuse(f"{SCHEME}: the option {key} is empty", hint=f"expected {OPTIONS[key]}")
        given[key] = text
    if "key" in given:  # a secret in a URL is shown in logs and lists of processes
        raise Misuse(f"{SCHEME}: a key does not belong into a URL", hint="put it into a file: key_file=PATH")
    return given


def _is_list(where: str) -> bool:
    """True if the members are listed, and not in a file."""
    return where.startswith("//") and not where.startswith("///")


def _group(where: str, given: dict[str, str], *, files: bool) -> Group:
    if not _is_list(where):
        for option in ("group", "key_file", *_TLS):
            if option in given:
                raise Misuse(f"{SCHEME}: {option}= is for a list of addresses", hint="say it in the group file")
        return load_group(Path(where.removeprefix("//")))
    members = where.removeprefix("//").split(",")
    listed = ",".join(f"{number}={address.strip()}" for number, address in enumerate(members, 1))
    key_file = given.get("key_file")
    parts = [given[option] for option in _TLS if option in given]
    if parts and len(parts) < len(_TLS):
        raise Misuse(f"{SCHEME}: TLS needs {', '.join(f'{option}=' for option in _TLS)}", hint="`vez certs` makes them")
    return listed_group(
        listed,
        given.get("group", "vez"),
        Path(),
        None if key_file is None else Path(key_file),
        Tls(*parts) if parts else None,
        read=read_key if files else lambda _: bytes(KEY_BYTES),
    )


def _refuse_unknown(name: str, algorithm: type[Process], parameters: dict[str, Any]) -> None:
    known = marked(algorithm, PARAMETER)
    for key in parameters:
        if key not in known:
            raise UnknownName(f"option of {SCHEME}: with {name}", key, (*OPTIONS, *known))


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _number(given: dict[str, str], option: str, default: float, *, least: float = 0.0) -> float:
    text = given.get(option, str(default))
    value = float(text) if _NUMBER.fullmatch(text) else -1.0
    if not least <= value <= LARGEST:
        raise Misuse(f"{option}={text[:40]}: expected a number from {least:g} to {LARGEST:,}")
    return value


def _whole(given: dict[str, str], option: str, default: int) -> int:
    text = given.get(option, str(default))
    if not _WHOLE.fullmatch(text):
        raise Misuse(f"{option}={text[:40]}: expected a whole number")
    return int(text)
