"""Recipes for etcd: locks and elections with the keys of Go's `concurrency` package, sessions, inspection, breaks.

A request is a key `NAME/<lease in hex>` that is attached to the lease of its session. The oldest key, by its create
revision, holds. The create revision is the fencing token: etcd's revisions only grow. Every waiter watches only the key
just before its own, so a release wakes one waiter.

A session is a lease and one key of its own, `vez/sessions/<lease in hex>`. The modification revision of this key is the
fence of the session. A request that may still be on its way when it is withdrawn compares the fence. A withdrawal whose
request had no reply changes the fence, so that a delayed request can no longer take effect.
"""
