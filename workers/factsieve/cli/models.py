"""`factsieve models`: NLI models of open licences, fetched at pinned revisions."""

from pathlib import Path
from typing import Annotated

import typer

from factsieve.cli.render import out

app = typer.Typer(
    no_args_is_help=True,
    help="Fetch NLI models of open licences, each at a pinned revision.",
    epilog="Example: factsieve models pull nli-minilm2",
)


@app.command("list")
def list_models() -> None:
    """Show the models that can be fetched, with their licences.

    Example: factsieve models list
    """
    from factsieve.adapters.models import MODELS

    for name, model in MODELS.items():
        out().print(f"{name:14} {model.licence:12} {model.about}", markup=False)


@app.command("pull")
def pull(
    name: Annotated[str, typer.Argument(help="A name that `factsieve models list` shows.")],
    folder: Annotated[Path | None, typer.Option(help="Where to put it; default: models/NAME.")] = None,
) -> None:
    """Fetch a model, check it against its hashes, and say how to use it. A folder that holds it already is left alone.

    Example: factsieve models pull nli-minilm2 --folder models/nli-minilm2
    """
    from factsieve.adapters.models import pull as fetch

    place = fetch(name, folder or Path("models") / name)
    out().print(
        f"{name} is in {place}. Use it with --judge nli:{place} or judge.nli_path = {str(place)!r}.", markup=False
    )
