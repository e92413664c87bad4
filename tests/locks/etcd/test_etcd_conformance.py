"""etcd keeps the contract, as far as its traits say: Debian's 3.4, and 3.5."""

from __future__ import annotations

from itertools import count

import pytest

from vez.testing.conformance import Conformance
from vez.testing.process_conformance import ProcessConformance
from vez.testing.servers import EtcdServer

_spaces = count()


class TestEtcd(Conformance):
    @pytest.fixture
    def url(self, etcd: EtcdServer) -> str:
        return f"{etcd.url}/conformance{next(_spaces)}"


class TestNewerEtcd(Conformance):
    @pytest.fixture
    def url(self, newer_etcd: EtcdServer) -> str:
        return f"{newer_etcd.url}/conformance{next(_spaces)}"


class TestProcesses(ProcessConformance):
    @pytest.fixture
    def url(self, etcd: EtcdServer) -> str:
        return f"{etcd.url}/processes{next(_spaces)}?lease=2"
