"""What `vez engines` and `vez doctor` say of an engine follows its traits."""

from __future__ import annotations

from vez.engines import provider
from vez.engines.promises import freed
from vez.peers.settings import read_url
from vez.peers.traits import traits_of

GROUP = "peers://unix:sockets/1,unix:sockets/2?me=1&algorithm="


def test_a_lease_can_be_chosen_only_where_a_request_may_name_one() -> None:
    assert freed(provider("etcd").TRAITS) == "when its lease has expired: 10 s unless lease= says otherwise"
    assert freed(traits_of(read_url(f"{GROUP}coordinator-lease"))) == "when its lease has expired: 0.6 s"
