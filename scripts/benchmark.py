#!/usr/bin/env python3
"""Run benchmarks from the table of jobs; print their figures and write them as CSV.

    python scripts/benchmark.py --list                        # every job with its settings
    python scripts/benchmark.py speed.synthesis --data DIR --out results.csv
    python scripts/benchmark.py careers --data DIR            # all jobs of a subject
    python scripts/benchmark.py verdict.planted --set file=DIR/ma2019.csv --set draws=5

DIR holds the files that a job needs (`ma2019.csv`, `sd2011.csv`, `mvad.csv`, `actcal.csv`). Each
row of the CSV has job, case, figure, value, unit, whether its claim holds, seed, commit, machine
and Python. A job of trials has controls, in which something is made wrong on purpose. The exit code
is 1 where a claim does not hold or a control finds nothing.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import yaml

FOLDER = Path(__file__).resolve().parent / "benchmarks"
sys.path.insert(0, str(FOLDER))
from measuring import JOBS, Job, Row  # noqa: E402

COLUMNS = ("job", *Row._fields, "seed", "commit", "machine", "python")


def subjects() -> list[str]:
    """Return the files that enter jobs in the table."""
    files = sorted(FOLDER.glob("*.py"))
    return [path.stem for path in files if "\n@job(" in path.read_text(encoding="utf-8")]


def jobs_of(names: list[str]) -> Iterator[Job]:
    """Yield the jobs of some names; the name of a subject means all of its jobs."""
    known = subjects()
    for name in names:
        subject = name.partition(".")[0]
        if subject not in known:
            raise SystemExit(f"{name}: there is no such job; --list prints all")
        import_module(subject)
        jobs = [one for one in JOBS.values() if name in (one.name, one.name.partition(".")[0])]
        if not jobs:
            raise SystemExit(f"{name}: there is no such job; --list prints all")
        yield from jobs


def settings(job: Job, options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a job: those of --set, else of --small, else the defaults."""
    wanted = dict(word.split("=", 1) for word in options.set)
    hints, values = get_type_hints(job.run), {"data": options.data}
    parameters = inspect.signature(job.run).parameters
    values |= job.small if options.small else {}
    values |= {} if options.seed is None else {"seed": options.seed}
    values |= {name: yaml.safe_load(text) for name, text in wanted.items()}
    missing = [n for n, p in parameters.items() if p.default is p.empty and n not in values]
    if missing:
        raise SystemExit(f"{job.name} needs {', '.join(f'--set {name}=...' for name in missing)}")
    return {
        name: Path(value) if hints[name] is Path else value
        for name, value in values.items()
        if name in parameters
    }


def listed(job: Job) -> str:
    """Return a line about a job: name, settings and what it measures."""
    parameters = inspect.signature(job.run).parameters.values()
    words = " ".join(
        str(one).replace(" = ", "=").partition(": ")[0] + default(one) for one in parameters
    )
    return f"{job.name:26} {(job.run.__doc__ or '').strip().partition(chr(10))[0]} [{words}]"


def default(parameter: inspect.Parameter) -> str:
    """Return the default of a setting, empty where it must be given."""
    return "" if parameter.default is parameter.empty else f"={parameter.default}"


def facts() -> dict[str, str]:
    """Return commit, machine and Python of this run."""
    result = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=FOLDER, capture_output=True, text=True, check=False,
    )  # fmt: skip
    machine = f"{platform.machine()}, {os.cpu_count()} processors"
    commit = result.stdout.strip() or "unknown"
    return {"commit": commit, "machine": machine, "python": platform.python_version()}


def printed(row: Row) -> str:
    """Return a row as a line of the screen."""
    if row.value is None or isinstance(row.value, str):
        value = row.value or ""
    else:
        value = f"{row.value:,.5g}" if isinstance(row.value, float) else f"{row.value:,}"
    mark = {None: "", True: "holds", False: "DOES NOT HOLD"}[row.holds]
    return f"{row.case:44} {row.figure:44} {value:>14} {row.unit:8} {mark}".rstrip()


def main() -> None:
    """Run the jobs that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="a job, or all of a subject")
    parser.add_argument("--out", type=Path, help="CSV file, to which rows are added")
    parser.add_argument("--data", type=Path, default=Path(), help="directory of the data files")
    parser.add_argument("--seed", type=int, help="seed of the jobs that have one")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--small", action="store_true", help="each job at its smallest setting")
    parser.add_argument("--list", action="store_true", help="print the table of jobs")
    options = parser.parse_args()
    if options.list or not options.jobs:
        print(*(listed(job) for job in jobs_of(subjects())), sep="\n")
        return
    about, all_hold = facts(), True
    is_new = options.out is not None and not options.out.exists()
    opened = nullcontext() if options.out is None else options.out.open("a", newline="")
    with opened as file:
        writer = None if file is None else csv.DictWriter(file, COLUMNS)
        if writer is not None and is_new:
            writer.writeheader()
        for job in jobs_of(options.jobs):
            values = settings(job, options)
            print(f"\n{job.name} {({k: v for k, v in values.items() if k != 'data'}) or ''}")
            for row in job.run(**values):
                print(printed(row), flush=True)
                all_hold &= row.holds is not False
                if writer is not None and file is not None:
                    seed = values.get("seed", "")
                    writer.writerow({"job": job.name, **row._asdict(), "seed": seed, **about})
                    file.flush()
    sys.exit(0 if all_hold else 1)


if __name__ == "__main__":
    main()
