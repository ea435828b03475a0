"""Which secrets would go over the network in the clear, for `config check` and a worker's log: allowed, but never unnoticed."""

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from factsieve.assembly.settings import Settings


def exposed(settings: Settings) -> list[str]:
    """Return a sentence for each secret that leaves this machine unencrypted, with the settings that change it."""
    return list(_exposed(settings))


def _exposed(settings: Settings) -> Iterator[str]:
    kafka, redis, qdrant, judge, embedder = (
        settings.kafka,
        settings.redis,
        settings.qdrant,
        settings.judge,
        settings.embedder,
    )
    far = [server.strip() for server in kafka.bootstrap.split(",") if not _is_here(server.strip().rpartition(":")[0])]
    if kafka.security_protocol == "SASL_PLAINTEXT" and far:
        yield f"kafka.sasl_password goes to {far[0]} in the clear: kafka.security_protocol SASL_SSL encrypts it"
    url = urlsplit(redis.url.get_secret_value())
    if url.scheme == "redis" and (redis.password is not None or url.password) and not _is_here(url.hostname):
        yield f"the password for Redis goes to {url.hostname} in the clear: redis.url with rediss:// encrypts it"
    url = urlsplit(qdrant.url.get_secret_value())
    if url.scheme == "http" and (qdrant.api_key is not None or url.password) and not _is_here(url.hostname):
        yield f"qdrant.api_key goes to {url.hostname} in the clear: qdrant.url with https:// encrypts it"
    for name, group in (("judge", judge), ("embedder", embedder)):
        address = group.base_url.get_secret_value() if group.base_url is not None else ""
        if name == "judge" and not address:
            address = judge.effective_name.partition("#")[0]
        url = urlsplit(address)
        if url.scheme == "http" and group.api_key is not None and not _is_here(url.hostname):
            yield f"{name}.api_key goes to {url.hostname} in the clear: use an https:// address"


def _is_here(host: str | None) -> bool:
    """Return whether an address is this machine's own."""
    name = (host or "localhost").strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
