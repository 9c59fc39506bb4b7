"""What starts a server: its configuration, its demonstration, its accounts, checks and copies."""

import sqlite3
import sys

import pytest

from synthesizer.cli import main
from synthesizer.data.errors import SynthesizerError
from synthesizer.extensions.verification.server import serve as job
from synthesizer.extensions.verification.server.server_tables import AUDIT


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo"
    return folder, job.make_demo(folder, persons=120)


@pytest.fixture
def config(demo):
    return demo[0] / job.DEMO_CONFIG


def test_a_demonstration_is_ready_to_start(demo, config):
    folder, tokens = demo
    assert set(tokens) == {"steward", "ada", "bob"}
    with job.opened(config) as server:
        assert {t: server.accounts.by_token(tokens[t]).role for t in tokens} == job.DEMO_ACCOUNTS
        (dataset,) = server.service.list_datasets()
        assert dataset.name == "workforce"
        names = set(server.service.datasets["workforce"].schema.variables)
    assert {"sex", "race", "basic_pay", "year"} <= names
    for name in ("verification.sqlite", "confidential.parquet", "server.yaml"):
        assert (folder / name).stat().st_mode & 0o077 == 0
    assert not any(token in (folder / "server.yaml").read_text() for token in tokens.values())


def test_the_first_account_comes_from_the_command_line(config):
    token = job.add_account(config, "root", "admin")
    with job.opened(config) as server:
        root = server.accounts.by_token(token)
        assert (root.name, root.role) == ("root", "admin")
    with pytest.raises(SynthesizerError):
        job.add_account(config, "root", "admin")
    with pytest.raises(SynthesizerError, match="role"):
        job.add_account(config, "eve", "emperor")


def test_a_copy_is_whole_and_its_check_finds_what_was_changed(config, tmp_path):
    assert job.check(config).problems == ()
    copy = tmp_path / "copy.sqlite"
    job.backup(config, copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SynthesizerError, match="exists"):
        job.backup(config, copy)
    other = tmp_path / "server.yaml"
    moves = {
        "verification.sqlite": str(copy),
        "confidential.parquet": str(config.parent / "confidential.parquet"),
        "run/": f"{config.parent}/run/",
        "schema: schema.yaml": f"schema: {config.parent}/schema.yaml",
    }
    text = config.read_text()
    for here, there in moves.items():
        text = text.replace(here, there)
    other.write_text(text)
    assert job.check(other).head == job.check(config).head
    with sqlite3.connect(copy) as store:
        for name in ("no_change_of_audit", "no_end_of_audit"):
            store.execute(f"DROP TRIGGER {name}")
        store.execute(f"UPDATE {AUDIT.name} SET actor = 'mallory' WHERE id = 1")
    store.close()
    assert job.check(other).problems
    noted = str(job.check(config).head)
    with sqlite3.connect(copy) as store:
        store.execute(f"DELETE FROM {AUDIT.name}")
    store.close()
    assert job.check(other).problems == ()  # an empty chain is whole,
    assert job.check(other, noted=noted).problems  # but not what was noted


@pytest.mark.parametrize(
    ("change", "wrong", "words"),
    [
        ("cap: 20", "cap: .nan", "cap"),
        ("confidential.parquet", "nowhere.parquet", "no such file"),
        ("sqlite:///verification.sqlite", "postgresql://user:secret@host/name", "database"),
        ("access: {", "access: {user_header: X-Remote-User, ", "proxies"),
    ],
)
def test_a_wrong_configuration_is_refused_in_words(config, change, wrong, words, monkeypatch):
    broken = config.parent / "broken.yaml"
    broken.write_text(config.read_text().replace(change, wrong))
    with pytest.raises(SynthesizerError, match=words) as caught, job.opened(broken):
        pass
    assert "secret" not in str(caught.value)
    monkeypatch.setattr(job, "is_possible", lambda: False)
    with pytest.raises(SynthesizerError, match="confined: false"), job.opened(config):
        pass


def test_the_confidential_file_is_no_synthetic_one_and_has_one_cap(demo, tmp_path):
    """Dry runs are free and without noise; a second name would be a second budget."""
    folder, _ = demo
    copy, link = tmp_path / "release.parquet", tmp_path / "link"
    copy.write_bytes((folder / "confidential.parquet").read_bytes())
    link.symlink_to(folder / "confidential.parquet")
    text = (folder / "server.yaml").read_text()
    for name in ("confidential.parquet", "schema.yaml", "run/synthetic_1.csv"):
        text = text.replace(name, str(folder / name))
    wrong = tmp_path / "server.yaml"
    wrong.write_text(text.replace(f"{folder}/run/synthetic_1.csv", str(copy)))
    with pytest.raises(SynthesizerError, match="workforce: synthetic: .* confidential file"):
        job.opened(wrong).__enter__()
    second = text.split("datasets:\n")[1].replace("workforce:", "other:")
    wrong.write_text(text + second.replace(f"{folder}/confidential.parquet", "link"))
    with pytest.raises(SynthesizerError, match="datasets.other.confidential: .* two caps"):
        job.opened(wrong).__enter__()
    wrong.write_text(text)
    with job.opened(wrong) as server:
        assert [*server.service.datasets] == ["workforce"]


def test_a_directory_that_is_no_demonstration_is_left_alone(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "sys.argv", ["synthesizer", "verification", "serve", "--demo", str(tmp_path)]
    )
    with pytest.raises(SystemExit):
        sys.exit(main())
    printed = capsys.readouterr()
    assert "exists and is no demonstration" in printed.err
    assert "simulating" not in printed.out


def test_a_port_is_taken_before_tokens_are_printed(tmp_path, capsys, monkeypatch):
    with job.listen("127.0.0.1", 0) as other:
        port = other.getsockname()[1]
        words = ["verification", "serve", "--demo", str(tmp_path / "new"), "--port", str(port)]
        monkeypatch.setattr("sys.argv", ["synthesizer", *words])
        with pytest.raises(SystemExit):
            sys.exit(main())
    printed = capsys.readouterr()
    assert f"port {port}" in printed.err
    assert "--port" in printed.err
    assert "simulating" not in printed.out
    assert not (tmp_path / "new").exists()
