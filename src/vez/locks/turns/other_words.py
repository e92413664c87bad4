"""Other words: what users of other libraries type, and the word of vez for it. Loaded when a name is not known."""

from __future__ import annotations

from vez.errors import is_near

_RENEWAL = "nothing has to be renewed: a lock is held until it is released, and lease= is for what a crash leaves"
_WOKEN = "waiters are woken, they do not ask again: leave it out"
_NO_WAIT = "lock.try_acquire() does not wait; it returns the grant, or None"
_CLIENT = "it belongs to a client: vez.connect()."
_HINTS: tuple[tuple[str, str], ...] = (
    ("FileLock SoftFileLock UnixFileLock InterProcessLock Mutex Lock get_lock", "vez.lock(name), or client.lock(name)"),
    ("AsyncFileLock AsyncLock AioLock", "vez.aio.lock(name)"),
    ("RLock ReentrantLock is_singleton", "vez.lock(name, reentrant=True): its holder may acquire that object again"),
    ("thread_local", "each thread, or task, has its own grants: leave it out"),
    ("ReadWriteLock ReaderWriterLock InterProcessReaderWriterLock ReadLock WriteLock AsyncReadWriteLock",
     "client.read_lock(name) and client.write_lock(name)"),
    ("Semaphore BoundedSemaphore NamedBoundedSemaphore max_leases limit", "client.semaphore(name, limit)"),
    ("Election join_group join_partitioned_group watch_elected_as_leader campaign run weight",
     "client.election(name, weight=0); its lead(work, every=60) works while it leads"),
    ("lead observe", "client.election(name).lead(work, every=60) and client.election(name).observe()"),
    ("every", "client.lock(name).every('1d') decorates a function that runs once in each period"),
    ("interprocess_locked synchronized", "@vez.lock(name) decorates a function"),
    ("Timeout LockException LockNotAcquired LockError", "vez.LockTimeout, or vez.VezError for every error of vez"),
    ("AlreadyLocked LockNotOwnedError", "vez.LockTimeout, vez.AlreadyHeld or vez.OwnershipLost"),
    ("is_locked acquired is_acquired is_held", "lock.owned: held by this thread or task; lock.locked(): by anybody"),
    ("trylock acquire_nowait blocking fail_when_locked", _NO_WAIT),
    ("blocking_timeout wait max_wait", "timeout=, in seconds"),
    ("ttl expire expires expiration lifetime auto_release_time", "lease=, in seconds, where leases free the locks of "
     "the dead; at_least= for a shortest stay"),
    ("extend reacquire heartbeat refresh renew start", _RENEWAL),
    ("poll_interval poll_intervall check_interval sleep delay max_delay retry_interval", _WOKEN),
    ("identifier", "label=, the name that others see"),
    ("contenders status holders queue", "client.inspect(name) shows holders and waiters; vez status in a shell"),
    ("break_ break_lease force_break", "client.break_lock(name, reason)"),
    ("cancel", "a wait ends after timeout=, or with its task"),
    ("shared", "client.read_lock(name), or client.lock(name, shared=True)"),
    ("get_coordinator Redis KazooClient", "vez.connect(url)"),
    ("stop", "client.close()"),
)  # fmt: skip
_OF_CLIENTS = ("semaphore", "election", "read_lock", "write_lock", "lock_all", "inspect", "prune", "break_lock")


def way(name: str, known: tuple[str, ...]) -> str:
    """What to write instead of an unknown name, with a colon before it; empty if nothing is known."""
    if hint := next((hint for words, hint in _HINTS if name in words.split()), ""):
        return f": {hint}"
    near = next((one for one in known if is_near(name, one)), "")
    return f": did you mean {near}?" if near else ""


def no_attribute(instance: object, name: str) -> AttributeError:
    """The error for an attribute that an object of vez does not have."""
    kind = type(instance)
    known = () if name.startswith("_") else tuple(one for one in dir(kind) if not one.startswith("_"))
    told = "" if name.startswith("_") else way(name, known)
    return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{told}", name=name, obj=instance)


def no_member(module: str, name: str, known: tuple[str, ...]) -> AttributeError:
    """The error for a name that a module of vez does not have."""
    told = f": {_CLIENT}{name}" if name in _OF_CLIENTS else "" if name.startswith("_") else way(name, known)
    return AttributeError(f"module {module!r} has no attribute {name!r}{told}", name=name)


def no_option(function: str, name: str, known: tuple[str, ...]) -> TypeError:
    """The error for an option that a lock, semaphore or election does not have."""
    return TypeError(f"{function}() got an unexpected keyword argument {name!r}{way(name, known)}")
