"""Commands that verify findings under differential privacy: schema, ledger, queries, server."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from synthesizer.cli.arguments import AsJson, Overwrite, Text, option, say_written
from synthesizer.data.errors import ConfigError
from synthesizer.data.plugins import CommandGroup

QueryPath = Annotated[Path, typer.Argument(help="YAML or JSON file of the query.")]
ReleasedFile = Annotated[Path, option("The synthetic file that the query is about.")]
PublicSchemaPath = Annotated[
    Path, option("Public schema: YAML that 'verification schema' wrote.", "--schema")
]
LedgerPath = Annotated[Path, typer.Argument(help="SQLite file of one version of the data.")]


def schema_verification(
    release: Annotated[Path, typer.Argument(help="Result directory of a run, or codebook.json.")],
    out: Annotated[Path, option("YAML file to write; check it before use.", "--out", "-o")],
    person: Annotated[Text, option("Column of the person; that of the codebook.")] = None,
    period: Annotated[Text, option("Variable of time; that of the run.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the public schema for queries, from the codebook of a release."""
    from synthesizer.data.files import write_texts
    from synthesizer.extensions.verification.public_schema import schema_of_release, yaml_of

    made = schema_of_release(release, person=person, period=period)
    write_texts({out: yaml_of(made)}, overwrite=overwrite, read=[release])
    print(f"wrote {out} (digest {made.digest[:12]}); check it: an edit changes its digest")


def new_ledger(
    ledger: LedgerPath,
    confidential: Annotated[Path, option("The confidential file; it is read once.")],
    schema: PublicSchemaPath,
    cap: Annotated[float, option("Epsilon that may be spent in all.")],
    user_cap: Annotated[float | None, option("Epsilon of each user; the global cap.")] = None,
    analysis_cap: Annotated[
        float | None, option("Epsilon of each analysis; the global cap.")
    ] = None,
) -> None:
    """Create the ledger of one version of the confidential file, with a new secret key."""
    from synthesizer.extensions.verification.verify import begin_ledger

    begin_ledger(
        ledger, confidential=confidential, schema=schema, cap=cap, user_cap=user_cap,
        analysis_cap=analysis_cap,
    )  # fmt: skip
    print(f"wrote {ledger} (secret: it contains the key of the partitions; mode 0600)")


def show_ledger(ledger: LedgerPath, json: AsJson = False) -> None:
    """Show budgets and charged questions, without answers and the key."""
    from synthesizer.cli.printing import say_json, show_rows
    from synthesizer.extensions.verification.ledger import Ledger
    from synthesizer.measures.figure import plain

    spending = Ledger(ledger).spending()
    if json:
        say_json(plain(spending))
        return
    show_rows(spending.budgets, "Budgets, in epsilon")
    if spending.entries:
        show_rows(spending.entries, "Questions that were charged for")


def cap_ledger(
    ledger: LedgerPath,
    scope: Annotated[str, typer.Argument(help="global, user or analysis.")],
    cap: Annotated[float, option("Epsilon; not below the spent epsilon.")],
    name: Annotated[str, option("Name of the user or of the analysis.")] = "",
) -> None:
    """Change a budget."""
    from synthesizer.extensions.verification.ledger import Ledger

    Ledger(ledger).set_cap(scope, name, cap)


def answer(
    query: QueryPath,
    synthetic: ReleasedFile,
    schema: PublicSchemaPath,
    confidential: Annotated[Path | None, option("The confidential file.")] = None,
    ledger: Annotated[Path | None, option("Ledger of this version of the file.")] = None,
    user: Annotated[str, option("User whose budget pays, besides the global one.")] = "unnamed",
    analysis: Annotated[str, option("Analysis whose budget pays.")] = "unnamed",
    dry_run: Annotated[bool, option("Use the synthetic data alone: free.", "--dry-run")] = False,
    choose_m: Annotated[
        bool, option("Choose M, and epsilon up to that of the query: free.", "--choose-m")
    ] = False,
    out: Annotated[
        Path | None, option("Directory for answer.html and answer.json.", "--out", "-o")
    ] = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Answer a query under differential privacy, and charge for it.

    The same query gets the same answer again, free of charge. Try --dry-run and --choose-m first:
    they need neither the confidential file nor a ledger.
    """
    from synthesizer.cli.printing import say_json
    from synthesizer.data.files import check_inside
    from synthesizer.extensions.verification import verify as job
    from synthesizer.extensions.verification.choosing import chosen
    from synthesizer.measures.figure import plain

    job.check_words(
        dry_run=dry_run, choose_m=choose_m, confidential=confidential, ledger=ledger, out=out
    )
    if out is not None:
        read = [file for file in (query, synthetic, schema, confidential, ledger) if file]
        check_inside(out, job.ANSWER_FILES, overwrite=overwrite, read=read)
    if choose_m:
        public_query = job.sound_query(query, schema, synthetic)
        choice = chosen(public_query, public_query.query.epsilon)
        say_json(choice.content) if json else _say_lines(choice.lines)
        return
    if confidential is None or ledger is None:
        made = job.dry_run(query, synthetic=synthetic, schema=schema)
    else:
        made = job.verify(
            query, confidential=confidential, synthetic=synthetic, schema=schema, ledger=ledger,
            user=user, analysis=analysis,
        )  # fmt: skip
    say_json(plain(made)) if json else _say_lines(made.lines)
    if out is not None:
        paths = job.write_answer(made, out, overwrite=overwrite)
        if not json:
            say_written(*paths)


def _say_lines(lines: Iterable[str]) -> None:
    from synthesizer.cli.printing import say

    for line in lines:
        say(line)


ServerPath = Annotated[Path, typer.Argument(help="YAML of the server.")]


def serve(
    config: Annotated[Path | None, typer.Argument(help="YAML of the server.")] = None,
    demo: Annotated[
        Path | None,
        option("Make a server with simulated persons in this directory, if new, and start it."),
    ] = None,
    persons: Annotated[int, option("Persons of the demonstration.")] = 3_000,
    port: Annotated[
        int | None, typer.Option(help="Port; that of the YAML.", min=0, max=65_535)
    ] = None,
) -> None:
    """Start a verification server: pages, API and queue.

    Ctrl-C stops it.
    """
    from synthesizer.extensions.verification.server import serve as job

    if (config is None) == (demo is None):
        raise ConfigError("write the YAML of a server, or --demo DIRECTORY, and not both")
    listener = None
    if demo is not None:
        config = demo / job.DEMO_CONFIG
        if demo.exists() and not config.exists():
            raise ConfigError(
                f"--demo {demo} exists and is no demonstration (it has no {job.DEMO_CONFIG}); name "
                "a directory that is new"
            )
        if not config.exists():
            listener = job.listen_for_demo(port)
            print(f"simulating {persons:,} persons and synthesising them: about a minute")
            for name, token in job.make_demo(demo, persons=persons).items():
                print(f"{job.DEMO_ACCOUNTS[name]:10}  {name:8}  token {token}")
            print("tokens, shown only now; sign in with them at the address below", flush=True)
    assert config is not None  # noqa: S101 - one of both was named
    job.serve(config, port=port, listener=listener)


def add_account(
    config: ServerPath,
    name: Annotated[
        str, typer.Argument(help="Name; with a single sign-on exactly the name that it sends.")
    ],
    role: Annotated[str, option("researcher, steward or admin.")] = "researcher",
) -> None:
    """Make an account, also the first one, and print its token once."""
    from synthesizer.extensions.verification.server import serve as job

    print(f"token of {name}, shown only now: {job.add_account(config, name, role)}")


def check_server(
    config: ServerPath,
    noted: Annotated[Text, option("Head of the audit log from an earlier check.")] = None,
) -> None:
    """Check the sums of all charges and the audit log; print the head of the log to store."""
    from synthesizer.extensions.verification.messages import LedgerError
    from synthesizer.extensions.verification.server import serve as job

    checked = job.check(config, noted=noted)
    if checked.problems:
        raise LedgerError(checked.problems)
    print(f"charges and audit log are intact; head of the log: {checked.head}")


def backup_server(
    config: ServerPath, out: Annotated[Path, typer.Argument(help="File to write (mode 0600).")]
) -> None:
    """Copy the SQLite database of a server, also while it runs; for PostgreSQL use pg_dump."""
    from synthesizer.extensions.verification.server import serve as job

    job.backup(config, out)
    print(f"wrote {out} (secret: it contains keys and answers; mode 0600)")


def commands() -> list[CommandGroup]:
    """Return the commands of the extension."""
    functions = (
        schema_verification, new_ledger, show_ledger, cap_ledger, answer, serve, add_account,
        check_server, backup_server,
    )  # fmt: skip
    about = "Answer questions under differential privacy: schema, ledger, server."
    return [CommandGroup("verification", about, functions)]
