"""The hosts that another worker may have: what joins the group cannot send requests anywhere."""

from __future__ import annotations

from support.tables import each

from mnemolog.cluster.peer_hosts import PeerHosts

POD = "https://mnemolog-0.mnemolog-headless.default.svc.cluster.local:8420"


@each(
    ("own", "allowed", "refused"),
    [
        (None, ["http://127.0.0.1:1", "http://localhost:2", "http://[::1]:3"], ["http://10.0.0.1", "http://worker-1"]),
        ("http://127.0.0.1:8420", ["http://127.0.0.1:8421"], ["http://127.0.0.2:1", "http://127.0.0.1.evil.example"]),
        ("http://worker-1:8420", ["http://worker-2:8420", "http://Worker-10."], ["http://worker-1.evil.example"]),
        ("http://worker-1:8420", [], ["http://weaviate:8080", "http://localhost:8420", "http://xworker-1"]),
        (POD, [POD.replace("-0.", "-17.")], [POD.replace("default", "other"), POD.replace("mnemolog-0", "kafka-0")]),
        (POD, [], ["https://mnemolog-0.x.mnemolog-headless.default.svc.cluster.local", "https://mnemolog-0"]),
        ("http://10.1.2.3:8420", ["http://10.1.2.3:9"], ["http://10.1.2.4:8420", "http://169.254.169.254"]),
    ],
)
def test_who_is_not_named_may_be_named_alike(own: str | None, allowed: list[str], refused: list[str]):
    hosts = PeerHosts.beside(own)
    assert [hosts.refusal(url) for url in allowed] == [None] * len(allowed)
    for url in refused:
        assert "that MNEMOLOG_PEERS allows" in str(hosts.refusal(url)), url


def test_patterns_that_an_operator_lists_stand_for_parts_of_a_label():
    hosts = PeerHosts.named(["node-?.Example.com", " 10.1.*.* ", ""])
    assert hosts.patterns == ("node-?.example.com", "10.1.*.*")
    for url in ("http://node-1.example.com:8420", "http://NODE-2.example.com", "http://10.1.99.3:1"):
        assert hosts.refusal(url) is None
    for url in (
        "http://node-10.example.com",
        "http://node-1.x.example.com",
        "http://10.1.2.3.evil.example",
        "http://a",
    ):
        assert hosts.refusal(url) is not None


@each("url", ["ftp://worker-1", "worker-1:8420", "http://me:pw@worker-1", "http://", ""])
def test_what_is_no_place_of_a_worker_is_refused(url: str):
    assert "which is none" in str(PeerHosts.named(["*"]).refusal(url))


def test_with_tls_here_others_have_it_too():
    hosts = PeerHosts.beside("https://worker-1", needs_tls=True)
    assert hosts.refusal("https://worker-2") is None
    assert "give it a certificate too" in str(hosts.refusal("http://worker-2"))
