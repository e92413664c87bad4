"""Recipes for etcd: locks and elections laid out as Go's `concurrency` package does, sessions, inspection, breaks.

A request is a key `NAME/<lease in hex>` that is attached to the lease of its session. The oldest key, by its create
revision, holds. The create revision is the fencing token: etcd's revisions only grow. Everybody watches only the key
just before their own, so a release wakes one waiter.

A session is a lease and one key of its own, `vez/sessions/<lease in hex>`. Its modification revision is the fence of
the session: requests that may still be under way when a withdrawal is done compare it, and a withdrawal whose request
had no reply changes it, so that a delayed request can no longer take effect.
"""
