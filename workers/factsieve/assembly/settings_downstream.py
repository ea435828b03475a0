"""The settings of the cross-check with the downstream RAG."""

from pathlib import Path

from pydantic import Field, SecretStr

from factsieve.assembly.settings_groups import EmbedderSettings, Group, HttpUrl, ServiceUrl, Similarity


class DownstreamCollection(Group):
    """A Qdrant collection of the downstream RAG. It is only read."""

    url: HttpUrl = ServiceUrl("http://localhost:6333")
    """Address of its REST API."""
    api_key: SecretStr | None = None
    """API key; one that may only read is enough."""
    ssl_ca_file: Path | None = None
    """Certificate authorities (PEM) in place of the system's, with `https://`."""
    collection: str = Field(min_length=1)
    """Name of the collection."""
    text_key: str = Field(default="text", min_length=1)
    """Where the text is in a point's payload; dots lead into objects."""
    vector_name: str | None = None
    """Name of the vector, where points have several."""
    namespace_key: str | None = None
    """Where the namespace is in a point's payload (an indexed keyword). None: the collection is not divided; then `namespaces` says whose
    it is."""
    namespaces: tuple[str, ...] = ()
    """For which namespaces it is asked; empty: for all, which needs a `namespace_key`. `["*"]` without one: all may see its texts."""
    embedder: EmbedderSettings | None = None
    """The model of its vectors, as in `embedder`; none: the one that is used here."""
    skip_threshold: Similarity | None = None
    """Similarity from which a text of it counts as known, where the guard is clear; none: the namespace's `skip_threshold`."""


class DownstreamSettings(Group):
    """The cross-check with the downstream RAG: what is new here and known there is stored, and ingest is not told."""

    collections: dict[str, DownstreamCollection] = {}  # noqa: RUF012 - copied by pydantic
    """Collections by a name of your choice: `[downstream.collections.NAME]` in the file, JSON in the environment. None: no cross-check."""
    timeout_s: float = Field(default=0.5, gt=0)
    """How long a look into a collection may take before it is done without."""
    breaker_failures: int = Field(default=3, ge=1)
    """Failures in a row after which a collection is left alone for a while."""
    breaker_pause_s: float = Field(default=30.0, gt=0)
    """How long it is then left alone."""
    hits: int = Field(default=4, ge=1, le=64)
    """Nearest texts of a collection that are looked at."""
    max_connections: int = Field(default=4, ge=1)
    """Connections to a collection's server at most."""
