r"""What a survey weight gives away and how weighted estimates hold: the original, and syntheses.

Usage::

    python scripts/benchmarks/survey_weights.py ma2019.csv PWGTP AGEP,SEX,MSP,RAC1P PINCP_DECILE \
        [--totals SEX,HOUSING_TYPE] [--seeds 1-3] [--strata A --psu B] [--drop C,D]

Two further files are shipped by packages: ``nhanes`` by R's survey (``write.csv(nhanes,
"nhanes.csv", row.names=FALSE)``), and ``hld_sample_wb_2023.parquet`` by svy (in svy/datasets).
Prints Markdown: figures of the original as the release, of the original with its weights in random
order, of the defaults, and of the defaults raked to ``--totals``; means of the seeds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from synthesizer.cli.commands import errors_told
from synthesizer.jobs.check import check
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.measures.settings import ALL_OFF

KEYS = ("rare_weights", "totals_of_few", "weight_gain", "weight_matches", "weighted_two_way",
        "weighted_s_pmse", "weighted_means", "regressions_beyond", "weighted_beyond",
        "weighted_pmse_ratio", "weight_total")  # fmt: skip


def figures(frame: pd.DataFrame, made: pd.DataFrame, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a release by key."""
    weight = {"weight": asked["weight"], "weight_disclosure": True}
    design = {key: asked[key] for key in ("strata", "psu") if asked[key]}
    on = {"weighted_estimates": True, "regressions": True, "propensity": {"models": ["cart"]}}
    keys = {key: asked[key] for key in ("keys", "target")}
    checked = check(frame, made, **keys, settings={**ALL_OFF, **weight, **design, **on})
    found = [figure for _, figure in checked.figures]
    return {figure.key: figure for figure in found if figure.key in KEYS}


def synthesise(frame: pd.DataFrame, weights: dict[str, Any], seed: int) -> pd.DataFrame:
    """Return a synthetic file by the defaults."""
    weights = {key: value for key, value in weights.items() if value}
    config: dict[str, Any] = {"weights": weights, "checks": False, "seed": seed, "secret": "none"}
    made: pd.DataFrame = Synthesizer(**config).fit(frame).generate()[0]
    return made


def main(
    path: Path,
    weight: str,
    keys: str,
    target: str,
    totals: Annotated[str, typer.Option()] = "",
    seeds: Annotated[str, typer.Option()] = "1-3",
    strata: Annotated[str, typer.Option()] = "",
    psu: Annotated[str, typer.Option()] = "",
    drop: Annotated[str, typer.Option()] = "",
) -> None:
    """Print the table."""
    with errors_told():
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        frame = frame.drop(columns=[name for name in drop.split(",") if name])
        asked = {"weight": weight, "keys": keys.split(","), "target": target}
        design = {"strata": strata, "psu": psu}
        asked |= design
        first, _, last = seeds.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        rng = np.random.default_rng(1)
        shuffled = frame.assign(**{weight: rng.permutation(frame[weight].to_numpy())})
        raked = {name: "from_data" for name in totals.split(",") if name}
        releases = {
            "original": [frame],
            "weights in random order": [shuffled],
            "defaults": [
                synthesise(frame, {"variable": weight, **design}, seed) for seed in numbers
            ],
        }
        if raked:
            wanted = {"variable": weight, "totals": raked, **design}
            releases["raked"] = [synthesise(frame, wanted, seed) for seed in numbers]
        _print({name: [figures(frame, m, asked) for m in made] for name, made in releases.items()})


def _print(found: dict[str, list[dict[str, Any]]]) -> None:
    print(f"| figure | {' | '.join(found)} | fresh sample or right synthesis |")
    print(f"| --- |{' ---: |' * (len(found) + 1)}")
    for key in KEYS:
        if key not in found["original"][0]:  # no numbers, no regressions
            continue
        cells = [float(np.mean([one[key].value for one in runs])) for runs in found.values()]
        chance = found["original"][0][key].chance
        marks = "" if chance is None else f"{chance:.4f}"
        name = found["original"][0][key].name
        print(f"| {name} | {' | '.join(f'{cell:.4f}' for cell in cells)} | {marks} |")


if __name__ == "__main__":
    typer.run(main)
