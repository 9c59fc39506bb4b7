"""The comparison of Chen, Taub and Elliot (2019) for any categorical file.

Usage::

    python scripts/benchmarks/compare_genetic.py DATA.csv --keys A,B,C --target T [--out X.html]

Synthesises the file by the genetic algorithm (with the paper's settings, and with the package's
defaults), by CART (leaves of 5, independent draws, as synthpop) and by parametric models. Prints
tables 1 to 3 of the paper as Markdown, with CAP-U, CAP and the distance U, and writes these
and figures 6 and 7 to a page for the steward. Every column is taken for a category: numbers are
to be grouped first, or left out with ``--drop``.

Source: Chen, Taub and Elliot (2019), Trade-off between information utility and disclosure risk in
a GA synthetic data generator.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from compare_genetic_page import figures, tables
from compare_genetic_study import Settings, compare, prepare
from measuring import markdown

from synthesizer.cli.arguments import Overwrite, Workers, parse_names
from synthesizer.cli.commands import errors_told
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import check_file, write_texts
from synthesizer.report.page import Block, Chart, DataTable, Section, Words, render, written

TITLE = "Genetic synthesis beside CART and parametric models"
BANNER = (
    "Confidential: computed from the confidential data. For the data steward; not for release "
    "with the datasets."
)


class Start(StrEnum):
    """What the evolutions start from."""

    MUTANTS = "mutants"
    CHAIN = "chain"


class Redraw(StrEnum):
    """What mutations draw from."""

    UNIFORM = "uniform"
    MARGINAL = "marginal"


def lines(sections: Iterable[Section]) -> Iterator[str]:
    """Yield sections as Markdown; of pictures only what they show in words."""
    yield f"# {TITLE}"
    yield ""
    for section in sections:
        yield f"## {section.title}"
        yield ""
        for block in section.blocks:
            yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Words):
        for paragraph in block.paragraphs:
            yield paragraph
            yield ""
    elif isinstance(block, DataTable):
        yield f"{block.caption}:"
        yield ""
        yield from _table(block)
    elif isinstance(block, Chart):
        yield f"{block.title}. {block.summary}"
        yield ""
    else:
        yield "(On the page only.)"
        yield ""


def _table(table: DataTable) -> Iterator[str]:
    """Yield a table; a name with a bar would end its cell."""
    rows = (
        [
            written(cell, form).replace("|", "\\|")
            for cell, form in zip(row, table.forms, strict=True)
        ]
        for row in table.rows
    )
    yield from markdown([column.replace("|", "\\|") for column in table.columns], rows)


def check_outputs(data: Path, files: Iterable[Path], *, overwrite: bool) -> None:
    """Refuse outputs that cannot be written, before any work is done.

    Raises
    ------
    ConfigError
        If two outputs are one file, or one of them is the data.
    OutputError
        If a file exists and is not to be overwritten, or cannot be written.
    """
    files = list(files)
    whole = [path.resolve() for path in (data, *files)]
    if len(set(whole)) < len(whole):
        raise ConfigError("DATA, --out and --json must be different files: name others")
    for path in files:
        check_file(path, overwrite=overwrite)


def main(
    data: Annotated[Path, typer.Argument(help="File of original records.", show_default=False)],
    keys: Annotated[str, typer.Option(help="What an intruder knows: A,B,C.")],
    target: Annotated[str, typer.Option(help="What an intruder seeks.")],
    drop: Annotated[str | None, typer.Option(help="Columns to leave out: D,E.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every synthesis.")] = 1,
    generations: Annotated[int, typer.Option(min=1, help="Generations of an evolution.")] = 57,
    population: Annotated[int, typer.Option(min=3, help="Candidates of a generation.")] = 100,
    start: Annotated[Start, typer.Option(help="What evolutions start from.")] = Start.MUTANTS,
    redraw: Annotated[Redraw, typer.Option(help="Levels that are drawn.")] = Redraw.MARGINAL,
    cart_min_leaf: Annotated[int, typer.Option(min=1, help="Smallest leaf of CART.")] = 5,
    levels: Annotated[int, typer.Option(min=2, help="Most levels of a histogram.")] = 20,
    out: Annotated[Path, typer.Option(help="The page.")] = Path("compare_genetic.html"),
    json_file: Annotated[
        Path | None, typer.Option("--json", help="File of every number, for other programs.")
    ] = None,
    overwrite: Overwrite = False,
    workers: Workers = None,
) -> None:
    """Print the tables of the paper for a file, and write the page."""
    with errors_told():
        outputs = [out] if json_file is None else [out, json_file]
        check_outputs(data, outputs, overwrite=overwrite)
        settings = Settings(
            seed=seed,
            generations=generations,
            population=population,
            start=start.value,
            redraw=redraw.value,
            min_leaf=cart_min_leaf,
            workers=workers,
        )
        known, left_out = parse_names(keys) or (), parse_names(drop) or ()
        study = prepare(data, known, target, settings, drop=left_out)
        comparison = compare(study, levels=levels)
        sections = [*tables(comparison), *figures(comparison)]
        for line in lines(sections):
            print(line, flush=True)
        texts = {out: render(TITLE, sections, banner=BANNER, subtitle=study.origin)}
        if json_file is not None:
            plain = json.dumps(comparison.to_dict(), indent=1, allow_nan=False)
            texts[json_file] = f"{plain}\n"
        write_texts(texts, overwrite=overwrite)
        print(f"Written: {', '.join(map(str, outputs))}")


if __name__ == "__main__":
    typer.run(main)
