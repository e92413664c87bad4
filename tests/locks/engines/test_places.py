"""The directory of the file engine: one for each user, which no other user can take over or replace."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pwd
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import vez
from vez.errors import EngineUnavailable, Misuse
from vez.locks.engines.file import directory, upgrade
from vez.locks.engines.file.place import place_of

ROOT = Path(__file__).resolve().parents[3]
ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
SOMEBODY = 54321  # has no entry in the password file
TEAM = 54320

AS_SOMEBODY = f"""
import os, sys
import vez, vez.errors, vez.locks.engines.file.core, vez.locks.engines.file.place, vez.locks.engines.file.upgrade
url = sys.argv[1]
os.environ.pop("VEZ_DIR", None)
vez.connect("file:" + sys.argv[2]).lock("warm").acquire().release()  # all that is imported late
os.setgroups([int(number) for number in sys.argv[3:]])
os.setgid({SOMEBODY})
os.setuid({SOMEBODY})
try:
    client = vez.connect(url)
    grant = client.lock("x").try_acquire()
    print(grant.token if grant else "busy", flush=True)
    sys.stdin.readline()
except vez.errors.VezError as error:
    print(type(error).__name__, error, flush=True)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home directory, as the password file says, and no old places but those of the test."""
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    entry = pwd.struct_passwd(("me", "x", os.geteuid(), os.getegid(), "", str(made), "/bin/sh"))
    monkeypatch.setattr("pwd.getpwuid", lambda user: entry)
    for name in ("VEZ_DIR", "VEZ_URL", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "tmp").mkdir(mode=0o1777)
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(upgrade, "TEMPORARY", str(tmp_path / "tmp"))
    monkeypatch.setattr(upgrade, "SESSIONS", str(tmp_path / "run"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return made


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that other users can reach; pytest's own are private."""
    made = Path(tempfile.mkdtemp(prefix="vez-places-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def somebody(url: str, *groups: int) -> subprocess.Popen[str]:
    """A program of another user that tries to hold lock x; its first line is the token, `busy` or an error."""
    warm = tempfile.mkdtemp(prefix="warm-", dir=os.environ["VEZ_DIR"])  # removed when the tests end
    return subprocess.Popen(
        [sys.executable, "-c", AS_SOMEBODY, url, f"//{warm}/turns", *map(str, groups)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def first_line(url: str, *groups: int) -> str:
    with somebody(url, *groups) as started:
        out, _ = started.communicate("\n", timeout=90)
    return out.strip()


def test_the_url_comes_first_then_the_variable_then_the_home_of_the_password_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HOME": "/elsewhere", "XDG_RUNTIME_DIR": "/run", "XDG_STATE_HOME": "/state"}.items():
        monkeypatch.setenv(name, value)
        assert place_of("file:").path == home / ".local/state/vez"
    monkeypatch.setenv("VEZ_DIR", "/somewhere")
    assert place_of("file:").path == Path("/somewhere")
    assert place_of("file:///else%20where").path == Path("/else where")


def test_all_that_is_made_is_private(home: Path) -> None:
    before = os.umask(0)
    try:
        with vez.connect() as client, client.lock("x"):
            assert client.url == f"file://{home}/.local/state/vez"
    finally:
        os.umask(before)
    for made in (".local", ".local/state", ".local/state/vez"):
        assert stat.S_IMODE((home / made).stat().st_mode) == 0o700
    assert stat.S_IMODE((home / ".local/state/vez/lock.x").stat().st_mode) == 0o600


def test_a_removed_current_directory_matters_only_to_relative_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Daemons and shells that stay in a removed directory use locks all the same."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with vez.connect(f"file://{tmp_path}/turns") as client, client.lock("x") as grant:
        assert grant.token
    monkeypatch.setenv("VEZ_DIR", str(tmp_path / "turns"))
    with vez.connect("file:") as client:
        client.lock("x").acquire().release()
    monkeypatch.setenv("VEZ_DIR", "turns")
    with pytest.raises(Misuse, match="current directory, which was removed") as refused:
        vez.connect("file:")
    assert "absolute path" in str(refused.value.hint)
    command = [sys.executable, "-m", "vez", "run", "x", "--", "echo", "in"]
    environment = {**os.environ, "VEZ_DIR": str(tmp_path / "turns"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "in\n", "")


@pytest.mark.parametrize("where", ["/", "relative", "/does/not/exist"])
def test_without_a_home_it_says_what_to_set(home: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr("pwd.getpwuid", lambda user: pwd.struct_passwd(("me", "x", user, user, "", where, "")))
    with pytest.raises(EngineUnavailable, match="no home directory") as caught:
        vez.connect()
    assert "VEZ_DIR=" in str(caught.value)


@ONLY_ROOT
def test_a_user_without_an_entry_is_told_what_to_set() -> None:
    line = first_line("file:")
    assert line.startswith(f"EngineUnavailable user {SOMEBODY} has no entry in the password file")
    assert "VEZ_DIR=" in line


@ONLY_ROOT
def test_a_home_that_cannot_be_written_to_says_what_to_set(open_place: Path) -> None:
    """As under ProtectHome=read-only of a systemd unit."""
    line = first_line(f"file://{open_place}/turns")
    assert line.startswith("EngineUnavailable cannot use")
    assert "Permission denied" in line


# The way to the directory


def test_a_parent_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    parent = tmp_path / "open"
    parent.mkdir()
    for mode in (0o777, 0o757):
        parent.chmod(mode)
        with pytest.raises(EngineUnavailable, match=f"{parent} has mode 0{mode:o}"):
            vez.connect(f"file://{parent}/turns")
        with pytest.raises(EngineUnavailable, match="can be replaced by others"):
            vez.connect(f"file://{parent}/deeper/turns")
    parent.chmod(0o1777)
    vez.connect(f"file://{parent}/turns").close()


def test_a_parent_that_another_group_may_write_to_is_refused(tmp_path: Path) -> None:
    parent = tmp_path / "open"
    parent.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory to another group")
    os.chown(parent, 0, TEAM)
    parent.chmod(0o775)
    with pytest.raises(EngineUnavailable, match="mode 0775"):
        vez.connect(f"file://{parent}/turns")


@pytest.mark.parametrize(("tag", "who"), [(2, f"user {SOMEBODY}"), (8, f"group {SOMEBODY}")])
def test_a_parent_with_an_access_control_list_for_others_is_refused(tmp_path: Path, tag: int, who: str) -> None:
    """Its mode shows the mask of the list in place of the group's rights, and the group is our own."""
    parent = tmp_path / "listed"
    parent.mkdir(mode=0o755)
    for rights in (7, 5):
        entries = [(1, 7, 0), (2, 7, os.geteuid()), (tag, rights, SOMEBODY), (4, 5, 0), (16, 7, 0), (32, 5, 0)]
        try:
            content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in sorted(entries))
            os.setxattr(parent, "system.posix_acl_access", content)
        except OSError:
            pytest.skip("this file system has no access control lists")
        assert stat.S_IMODE(parent.stat().st_mode) == 0o775
        if rights == 7:
            with pytest.raises(EngineUnavailable, match=f"{parent} has an access control list by which {who} may"):
                vez.connect(f"file://{parent}/turns")
        else:
            vez.connect(f"file://{parent}/turns").close()


@ONLY_ROOT
def test_a_parent_of_another_user_is_refused(tmp_path: Path) -> None:
    parent = tmp_path / "theirs"
    parent.mkdir(mode=0o755)
    os.chown(parent, SOMEBODY, SOMEBODY)
    with pytest.raises(EngineUnavailable, match=f"belongs to user {SOMEBODY}"):
        vez.connect(f"file://{parent}/turns")


def test_links_on_the_way_are_followed_and_judged(tmp_path: Path) -> None:
    unsafe = tmp_path / "unsafe"
    unsafe.mkdir()
    (tmp_path / "real").mkdir()
    (unsafe / "link").symlink_to(tmp_path / "real")
    (tmp_path / "first").symlink_to("unsafe/link")
    vez.connect(f"file://{tmp_path}/first/turns").close()
    unsafe.chmod(0o777)
    with pytest.raises(EngineUnavailable, match=f"{unsafe} has mode 0777"):
        vez.connect(f"file://{tmp_path}/first/turns")


@ONLY_ROOT
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    """It can be replaced by its owner, also in a directory with the sticky bit."""
    (tmp_path / "real").mkdir(mode=0o700)
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o1777)
    (public / "link").symlink_to(tmp_path / "real")
    os.lchown(public / "link", SOMEBODY, SOMEBODY)
    with pytest.raises(EngineUnavailable, match=f"link belongs to user {SOMEBODY}"):
        vez.connect(f"file://{public}/link/turns")
    os.lchown(public / "link", 0, 0)
    vez.connect(f"file://{public}/link/turns").close()


def test_a_cycle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(EngineUnavailable, match="symbolic link"):
        vez.connect(f"file://{tmp_path}/a/turns")


# A directory for a group


@pytest.mark.parametrize("url", [
    "file:///srv/x?group=no-such-group", "file:///srv/x?group=", "file:///srv/x?group=1&group=2", "file:?group=0",
    "file:///srv/x?lease=3", "file:///srv/x?group=99999999999999999999",
])  # fmt: skip
def test_wrong_groups_are_refused(url: str) -> None:
    with pytest.raises((Misuse, EngineUnavailable)):
        vez.connect(url)


@ONLY_ROOT
def test_members_of_a_group_exclude_each_other(open_place: Path) -> None:
    url = f"file://{open_place}/turns?group={TEAM}"
    before = os.umask(0o077)
    try:
        with vez.connect(url) as client:
            assert client.url == url
            with client.lock("x") as grant:
                assert first_line(url, TEAM) == "busy"
            with somebody(url, TEAM) as other:
                assert other.stdout is not None
                assert int(other.stdout.readline()) > grant.token
                assert client.lock("x").try_acquire() is None
                (holder,) = client.inspect("x").holders
                assert holder.pid == other.pid
                record = client.break_lock("x", "the other user forgot it")
                assert record is not None
                with client.lock("x", timeout=5):
                    pass
                other.communicate("\n", timeout=90)
            assert client.prune() == 1
    finally:
        os.umask(before)
    assert stat.S_IMODE((open_place / "turns").stat().st_mode) == 0o2770
    for entry in (open_place / "turns").iterdir():
        assert (stat.S_IMODE(entry.stat().st_mode), entry.stat().st_gid) == (0o660, TEAM)


@ONLY_ROOT
def test_a_parent_that_a_stranger_keeps_locked_is_refused_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory, "PATIENCE", 0.05)
    parent = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(parent, fcntl.LOCK_EX)
        with pytest.raises(EngineUnavailable, match=r"another process keeps .* locked"):
            vez.connect(f"file://{tmp_path}/turns?group={os.getegid()}")
    finally:
        os.close(parent)
    vez.connect(f"file://{tmp_path}/turns?group={os.getegid()}").close()


def test_who_is_not_in_the_group_is_refused(open_place: Path) -> None:
    url = f"file://{open_place}/turns?group={TEAM}"
    vez.connect(url).close()
    assert "Permission denied" in first_line(url)


@ONLY_ROOT
@pytest.mark.parametrize("mode", [0o770, 0o2777, 0o2775, 0o700])
def test_a_directory_of_the_group_with_another_mode_is_refused(open_place: Path, mode: int) -> None:
    made = open_place / "turns"
    made.mkdir()
    os.chown(made, 0, TEAM)
    made.chmod(mode)
    with pytest.raises(EngineUnavailable, match=f"mode {mode:04o}"):
        vez.connect(f"file://{made}?group={TEAM}")
    assert stat.S_IMODE(made.stat().st_mode) == mode


# Upgrading from 0.1, which kept its turns elsewhere


@pytest.fixture(scope="module")
def version_0_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last commit of version 0.1.0, installed beside this one."""
    folder = tmp_path_factory.mktemp("old")
    packed = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "aa67fe0~1", "src/vez"], capture_output=True, check=False, timeout=60
    )
    if packed.returncode:
        pytest.skip("this folder has no git history with version 0.1.0")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True, timeout=60)
    return folder / "src"


HOLD = """
import sys, vez
client = vez.connect(sys.argv[1])
grant = client.lock("x").try_acquire()
print(vez.__version__, grant.token if grant else "busy", flush=True)
for line in sys.stdin:
    if line == "again\\n":
        try:
            client.lock("y").acquire(0)
            print("granted", flush=True)
        except vez.VezError as error:
            print(type(error).__name__, error, flush=True)
"""


def old_program(source: Path, url: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(source), **environment},
    )  # fmt: skip


def old_place(tmp_path: Path, which: str) -> tuple[Path, dict[str, str]]:
    if which == "temporary":
        return tmp_path / "tmp" / f"vez-{os.geteuid()}", {"TMPDIR": str(tmp_path / "tmp")}
    session = tmp_path / "run" / str(os.geteuid())
    session.mkdir(mode=0o700)
    return session / "vez", {"XDG_RUNTIME_DIR": str(session)}


@pytest.mark.parametrize("which", ["temporary", "session"])
def test_while_version_0_1_holds_a_lock_in_its_place_the_new_one_refuses(
    home: Path, tmp_path: Path, version_0_1: Path, which: str
) -> None:
    place, environment = old_place(tmp_path, which)
    with old_program(version_0_1, "file:", **environment) as old:
        assert old.stdin is not None
        assert old.stdout is not None
        version, token = old.stdout.readline().split()
        assert version == "0.1.0"
        assert place.is_dir()
        with pytest.raises(EngineUnavailable, match=r"vez 0\.1 is being used in .*vez") as caught:
            vez.connect()
        assert f"VEZ_DIR={place}" in str(caught.value)
        with vez.connect(f"file://{place}") as same:
            assert same.lock("x").try_acquire() is None, "in one directory the two versions exclude each other"
        old.communicate("", timeout=90)
    with vez.connect() as client, client.lock("x") as grant:
        assert grant.token > int(token)
    assert place.is_file()
    with old_program(version_0_1, "file:", **environment) as again:
        _, err = again.communicate("", timeout=90)
    assert again.returncode != 0
    assert "no directory (name a directory of your own in VEZ_DIR" in err


def test_an_open_program_of_version_0_1_is_not_granted_afterwards(
    home: Path, tmp_path: Path, version_0_1: Path
) -> None:
    place, environment = old_place(tmp_path, "temporary")
    with vez.connect(f"file://{place}") as other, contextlib.ExitStack() as stack:
        with contextlib.suppress(vez.OwnershipLost), other.lock("x"):
            old = stack.enter_context(old_program(version_0_1, "file:", **environment))
            assert old.stdout is not None
            assert old.stdout.readline().split()[1] == "busy", "it has the directory open, and holds nothing"
            other.break_lock("x", "to have a record")
        with vez.connect() as client, client.lock("y"):
            out, _ = old.communicate("again\n", timeout=90)
            assert out.startswith("EngineUnavailable")
            assert [record.reason for record in client.inspect("x").breaks] == ["to have a record"]


def test_what_version_0_1_would_refuse_is_left_alone(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "tmp" / f"vez-{os.geteuid()}"
    place.symlink_to(tmp_path)
    vez.connect().close()
    assert place.is_symlink()


def test_an_old_directory_with_other_files_is_not_said_to_be_in_use(home: Path, tmp_path: Path) -> None:
    old = tmp_path / "tmp" / f"vez-{os.geteuid()}"
    with vez.connect(f"file://{old}") as client, client.lock("x"):
        pass
    (old / "notes").mkdir()
    with pytest.raises(EngineUnavailable, match=r"has other files: notes") as caught:
        vez.connect("file:")
    assert "move them" in str(caught.value)
    (old / "notes").rmdir()
    vez.connect("file:").close()
    assert old.is_file()


def test_where_nothing_can_be_written_there_is_no_old_place(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose root file system is read-only."""

    def open_read_only(path: Path, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_CREAT and Path(path).is_relative_to(tmp_path / "tmp"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return os_open(path, flags, *rest, **more)

    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    os_open = os.open
    monkeypatch.setattr(os, "open", open_read_only)
    monkeypatch.setattr("tempfile.gettempdir", none)
    with vez.connect("file:") as client, client.lock("x") as grant:
        assert [holder.token for holder in client.inspect("x").holders] == [grant.token]


@pytest.mark.parametrize("spoiled", ["mark", "records"])
def test_an_old_directory_that_cannot_be_taken_over_is_an_error_of_vez(
    home: Path, tmp_path: Path, spoiled: str
) -> None:
    old = tmp_path / "tmp" / f"vez-{os.geteuid()}"
    with vez.connect(f"file://{old}") as client:
        held = client.lock("x").acquire()
        assert client.break_lock("x", "so that there is a record") is not None
        assert held.lost
    new = home / ".local/state/vez"
    new.mkdir(mode=0o700, parents=True)
    (new / ("pruned.tokens" if spoiled == "mark" else "breaks.jsonl")).mkdir()
    with pytest.raises(vez.EngineUnavailable, match=r"cannot take over .*vez 0\.1"):
        vez.connect("file:")


@ONLY_ROOT
def test_a_process_that_dropped_its_privileges_is_told(home: Path, client: vez.Client) -> None:
    """Earlier, a new name raised a raw `PermissionError`, and breaking a held name reported that nobody holds it."""
    program = f"""
import os, vez, vez.locks.engines.file.upgrade
client = vez.connect("file://{home}")
grant = client.lock("held").acquire()
os.setgroups([])
os.setgid({SOMEBODY})
os.setuid({SOMEBODY})
for one in (client.lock("new").acquire, lambda: client.break_lock("held", "a test"), lambda: client.inspect("new")):
    try:
        print(one())
    except vez.EngineUnavailable as error:
        print("Permission denied" in error.message)
grant.release()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True\nTrue\nTrue\n", "")
