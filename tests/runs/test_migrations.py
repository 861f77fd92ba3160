"""Files of older formats are brought up to date when they are read; those of newer ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from checkpoint_cases import FIRST, SECOND, pointer, same
from softground.errors import CheckpointError
from softground.files import Unreadable
from softground.runs import RunFolder, checkpoint, migrations
from softground.runs.checkpoint import load, save
from softground.runs.migrations import Newer, migrated, newest


def test_steps_are_taken_in_order_from_where_a_value_is() -> None:
    steps = {1: lambda text: text + "b", 2: lambda text: text + "c"}
    assert newest(steps) == 3
    assert newest({}) == 1
    assert [migrated("a", schema, steps) for schema in (1, 2, 3)] == ["abc", "ac", "a"]
    with pytest.raises(Newer, match="schema 4, and this version of softground reads up to 3"):
        migrated("a", 4, steps)
    for schema in (0, -1, "1", None, True, 1.0):
        with pytest.raises(Unreadable, match="its schema is"):
            migrated("a", schema, steps)


def test_a_value_that_is_not_what_its_schema_says_is_named() -> None:
    with pytest.raises(Unreadable, match=r"not what schema 1 says \(KeyError: 'old'\)"):
        migrated({}, 1, {1: lambda document: {"new": document["old"]}})


def test_every_format_has_a_chain_without_gaps() -> None:
    for steps in (migrations.POINTERS, migrations.CHECKPOINTS, migrations.CONFIGS, migrations.SUMMARIES):
        assert sorted(steps) == list(range(1, newest(steps)))


def rename(found: tuple[dict[str, Tensor], dict[str, Any]]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An invented change: tensor 'w' is now 'weight', 'epoch' counts from zero."""
    tensors, meta = found
    return {{"w": "weight"}.get(name, name): t for name, t in tensors.items()}, {"epoch": meta["epoch"] - 1}


def test_an_older_checkpoint_is_brought_up_to_date_and_the_next_save_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, *FIRST)
    monkeypatch.setitem(migrations.CHECKPOINTS, 1, rename)
    assert same(load(tmp_path), ({"weight": FIRST[0]["w"]}, {"epoch": 0}))
    new = {"weight": torch.ones(2)}, {"epoch": 1}
    save(tmp_path, *new)
    assert same(load(tmp_path), new)  # as it was written
    assert same(load(tmp_path, previous=True), ({"weight": FIRST[0]["w"]}, {"epoch": 0}))  # each by its own schema
    monkeypatch.delitem(migrations.CHECKPOINTS, 1)
    with pytest.raises(CheckpointError, match=r"schema 2, and this version .* up to 1.*Upgrade"):
        load(tmp_path)


def test_an_older_pointer_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, *FIRST)
    save(tmp_path, *SECOND)
    path = tmp_path / "checkpoint.json"
    now = pointer(tmp_path)
    path.write_text(json.dumps({"schema": 1, "newest": now["current"], "older": now["previous"]}))
    with pytest.raises(CheckpointError, match="its entries are"):
        load(tmp_path)
    monkeypatch.setitem(
        migrations.POINTERS, 1, lambda old: {"schema": 2, "current": old["newest"], "previous": old["older"]}
    )
    assert same(load(tmp_path), SECOND)
    assert same(load(tmp_path, previous=True), FIRST)
    save(tmp_path, *FIRST)
    assert pointer(tmp_path)["schema"] == 2
    assert same(load(tmp_path, previous=True), SECOND)


@pytest.mark.parametrize("name", ["config", "summary"])
def test_documents_have_a_schema_that_readers_do_not_see(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFolder(tmp_path)
    path, write, read = tmp_path / f"{name}.json", getattr(run, f"write_{name}"), getattr(run, f"read_{name}")
    write({"task": "hwf", "seed": 3})
    assert json.loads(path.read_text()) == {"schema": 1, "task": "hwf", "seed": 3}
    assert read() == {"task": "hwf", "seed": 3}
    path.write_text('{"task": "hwf", "seed": 3}')  # as it was before there were schemas
    assert read() == {"task": "hwf", "seed": 3}
    steps = {"config": migrations.CONFIGS, "summary": migrations.SUMMARIES}[name]
    monkeypatch.setitem(steps, 1, lambda old: old | {"task": old["task"].upper()})
    assert read() == {"task": "HWF", "seed": 3}
    write(read())
    assert json.loads(path.read_text()) == {"schema": 2, "task": "HWF", "seed": 3}
    assert read() == {"task": "HWF", "seed": 3}
    path.write_text('{"schema": 99, "task": "hwf"}')
    with pytest.raises(CheckpointError, match=rf"{name}\.json: it has schema 99, .* up to 2\. Upgrade softground"):
        read()
    for schema in ("null", "0", '"1"', "true"):
        path.write_text(f'{{"schema": {schema}}}')
        with pytest.raises(CheckpointError, match=rf"{name}\.json: its schema is"):
            read()


def test_a_checkpoint_as_it_was_before_files_had_a_schema_still_loads(tmp_path: Path) -> None:
    """Byte for byte what the first version wrote: no schema in the header, no digest of config or metrics."""
    header = json.dumps(
        {"__metadata__": {"softground": '{"epoch":7}'}, "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    ).encode()
    data = len(header).to_bytes(8, "little") + header + b"\0\0\x80\x3f"
    (tmp_path / "checkpoint-00000001.safetensors").write_bytes(data)
    entry = {"file": "checkpoint-00000001.safetensors", "sha256": checkpoint._digest(data), "size": len(data)}
    (tmp_path / "checkpoint.json").write_text(json.dumps({"schema": 1, "current": entry, "previous": None}))
    (tmp_path / "config.json").write_text('{"task": "hwf"}')
    assert same(RunFolder.open(tmp_path).load_checkpoint(), ({"w": torch.ones(1)}, {"epoch": 7}))
    save(tmp_path, *SECOND)
    assert load(tmp_path, previous=True)[1] == {"epoch": 7}
