"""Addresses: parses etcd URLs.

etcd://[user[:password]@]host[:port][,host[:port]…][/namespace][?option=value&…]
"""

from __future__ import annotations

import os
import re
import ssl
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import msgspec

from vez.errors import Misuse
from vez.locks.engines.urls import without_password

DEFAULT_PORT = 2379
DEFAULT_LEASE_SECONDS = 10
"""Default lease in seconds: the time for which a silent holder keeps its lock. Long enough for a cluster to elect a new
leader (1 to 3 s) and for two repetitions of a failed renewal; short enough for others to wait for it."""
LARGEST_LEASE_SECONDS = 9_000_000_000
"""Limit of etcd."""
OPTIONS = ("tls", "ca", "cert", "key", "lease", "password-file")
PASSWORD = "VEZ_ETCD_PASSWORD"  # noqa: S105  the name of a variable
EXAMPLE = "for example etcd://10.0.0.5:2379,10.0.0.6:2379/namespace?lease=5"


_AROUND = re.compile(r"^\[[^]]*\] *| *\(_ssl\.c:\d+\)$")
"""What Python puts around a text of OpenSSL."""
_HOST = re.compile(r"[A-Za-z0-9_.:%-]+")
_NOT_TEXT = re.compile("[\ud800-\udfff]")
"""Surrogates: how Python represents bytes of a command line that are not UTF-8."""
_PORT, _SECONDS = re.compile(r"[0-9]{1,5}"), re.compile(r"[0-9]{1,10}")
_YES, _NO = ("1", "true", "yes"), ("", "0", "false", "no")


class Endpoint(msgspec.Struct, frozen=True):
    """A member of the cluster."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Address(msgspec.Struct, frozen=True):
    """A parsed URL. `repr` hides the password."""

    url: str
    endpoints: tuple[Endpoint, ...]
    namespace: str = ""
    """Prefix of every key, with a slash at its end; empty if there is no namespace."""
    user: str = ""
    given_password: str = ""
    """The password of the URL or of the environment; empty if there is none."""
    password_file: str = ""
    tls: bool = False
    ca: str = ""
    cert: str = ""
    key: str = ""
    lease_seconds: int = DEFAULT_LEASE_SECONDS

    def __repr__(self) -> str:
        return f"Address({without_password(self.url)!r})"

    def password(self) -> str:
        """The password from the file that the URL names, which is shown in no list of processes, or else the given one.
        Reads the file."""
        if not self.password_file:
            return self.given_password
        try:
            return Path(self.password_file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:  # ValueError: the file is not UTF-8, or the path is not valid
            why = getattr(error, "strerror", None) or "it is not text in UTF-8"
            raise Misuse(f"the file {self.password_file!r} with the password cannot be read: {why}") from error

    def context(self) -> ssl.SSLContext | None:
        """The TLS context with the certificates of the URL; None without TLS. Reads the files."""
        if not self.tls:
            return None
        files, hint = [self.ca], "a PEM file of certificates is expected"
        try:
            made = ssl.create_default_context(cafile=self.ca or None)
            if self.cert:
                files = [name for name in (self.cert, self.key) if name]
                hint = "PEM files of a certificate and its key are expected, the key without a passphrase"
                made.load_cert_chain(self.cert, self.key or None, password="")  # None would ask at the terminal
        except (OSError, ValueError) as error:  # the path is not valid, or the file is not a certificate
            why = getattr(error, "strerror", None) or str(error)
            raise Misuse(f"{' and '.join(files)} cannot be used: {words_of_openssl(why)}", hint=hint) from error
        return made


def words_of_openssl(text: str) -> str:
    """The text of an error of TLS without the words that Python puts around it."""
    return _AROUND.sub("", text)


def parse(url: str) -> Address:
    """The address of a URL. Raises `Misuse` if the URL is not valid. Reads no file."""
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    place, _, namespace = rest.partition("/")
    credentials, at, hosts = place.rpartition("@")
    if scheme != "etcd" or not hosts or "#" in url or _NOT_TEXT.search(url):
        raise Misuse(f"{without_password(url)!r} is not an etcd URL", hint=EXAMPLE)
    options = _options(url, query)
    user, colon, password = credentials.partition(":")
    if at and not user:
        raise Misuse(f"{without_password(url)!r} has a password and no user", hint=EXAMPLE)
    _fit(url, options, user)
    files = {name: options.get(name, "") for name in ("ca", "cert", "key")}
    return Address(
        url=url,
        endpoints=tuple(_endpoint(url, text) for text in hosts.split(",")),
        namespace=_namespace(url, namespace),
        user=unquote(user),
        given_password=unquote(password) if colon else os.environ.get(PASSWORD, "") if user else "",
        password_file="" if colon else options.get("password-file", ""),
        tls=options.get("tls", "") in _YES or any(files.values()),
        lease_seconds=_lease(options.get("lease", str(DEFAULT_LEASE_SECONDS))),
        **files,
    )


def _options(url: str, query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    for name, _ in pairs:
        if name not in OPTIONS:
            raise Misuse(
                f"{without_password(url)!r} has the option {_shown(url, name)}, which etcd URLs do not have",
                hint=f"options: {', '.join(OPTIONS)}",
            )
    options = dict(pairs)
    if len(options) < len(pairs):
        raise Misuse(f"{without_password(url)!r} names an option twice", hint=EXAMPLE)
    return options


def _fit(url: str, options: dict[str, str], user: str) -> None:
    """Raise `Misuse` for options that contradict each other or would have no effect: a user who sets an option relies
    on it."""
    if options.get("tls", "") not in (*_YES, *_NO):
        raise Misuse(f"tls is 1 or 0, found {options['tls']!r} in {without_password(url)!r}")
    if options.get("tls") and options["tls"] in _NO and any(options.get(name) for name in ("ca", "cert", "key")):
        raise Misuse(f"{without_password(url)!r} names certificates and says tls={options['tls']}")
    if options.get("key") and not options.get("cert"):
        raise Misuse(f"{without_password(url)!r} names a key and no certificate", hint="?cert=…&key=…")
    if options.get("password-file") and not user:
        raise Misuse(f"{without_password(url)!r} names a file with a password and no user", hint="etcd://USER@HOST…")


def _shown(url: str, text: str) -> str:
    """Part of a URL for an error message. If it may be part of the password, a text that says so."""
    return repr(text) if text in without_password(url) else "a part of the password (write / ? # @ in it as %2F …)"


def _endpoint(url: str, text: str) -> Endpoint:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, str(DEFAULT_PORT)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if not _is_host(host) or not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise Misuse(f"{without_password(url)!r} has {_shown(url, text)} where host:port is expected", hint=EXAMPLE)
    return Endpoint(host, int(port))


def _is_host(host: str) -> bool:
    """False for a name that cannot be looked up, because a part of it is empty or longer than 63 characters."""
    try:
        return bool(_HOST.fullmatch(host) and host.encode("idna"))
    except UnicodeError:
        return False


def _namespace(url: str, text: str) -> str:
    text = unquote(text).rstrip("/")
    if any(not part for part in text.split("/")) and text:
        raise Misuse(f"{without_password(url)!r} has an empty part in its namespace", hint=EXAMPLE)
    return f"{text}/" if text else ""


def _lease(text: str) -> int:
    if not _SECONDS.fullmatch(text) or not 1 <= int(text) <= LARGEST_LEASE_SECONDS:
        raise Misuse(f"a lease on etcd is a whole number of seconds above 0, found {text!r:.40}", hint=EXAMPLE)
    return int(text)
