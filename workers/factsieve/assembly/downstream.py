"""From settings to the collections of the downstream RAG."""

from factsieve.adapters.downstream import DownstreamCollection, DownstreamCollections
from factsieve.adapters.qdrant_tools import connect
from factsieve.assembly.settings import Settings
from factsieve.assembly.wiring import load_embedder
from factsieve.ports import Embedder


def build_downstream(settings: Settings, embedder: Embedder) -> DownstreamCollections | None:
    """Return the configured collections, None without any; `embedder` is our own. Nothing is asked yet.

    Raises BadSettings where a model is missing. Call `close` at the end.
    """
    told = settings.downstream
    if not told.collections:
        return None
    made = []
    for name, one in told.collections.items():
        client = connect(
            one.url.get_secret_value(),
            api_key=one.api_key.get_secret_value() if one.api_key else None,
            ca_file=str(one.ssl_ca_file) if one.ssl_ca_file else None,
            timeout_s=max(1.0, told.timeout_s),
            max_connections=told.max_connections,
        )
        own = one.embedder
        made.append(
            DownstreamCollection(
                name,
                client,
                embedder if own is None else load_embedder(own),
                collection=one.collection,
                same_embedder=own is None,
                text_key=one.text_key,
                vector_name=one.vector_name,
                namespace_key=one.namespace_key,
                namespaces=frozenset(one.namespaces),
                skip_threshold=one.skip_threshold,
                hits=told.hits,
                timeout_s=told.timeout_s,
                breaker_failures=told.breaker_failures,
                breaker_pause_s=told.breaker_pause_s,
                max_unknown_share=(own or settings.embedder).max_unknown_share,
            )
        )
    return DownstreamCollections(made)
