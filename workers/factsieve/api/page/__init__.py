"""The activity page: what was decided and why, live; one fact's story; undoing. All of it rendered here, nothing from elsewhere."""

from factsieve.api.page.routes import router

__all__ = ["router"]
