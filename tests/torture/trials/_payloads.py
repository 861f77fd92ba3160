"""Run folders that somebody made to do harm: each payload changes a finished run in one way.

A payload gets the run's folder and a folder outside, in which nothing may happen.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import pickle

from ._forgery import (
    ESCAPE,
    HUGE,
    SCRIPT,
    Bomb,
    Forged,
    Payload,
    broken_weights,
    chains,
    injected,
    linked,
    logged,
    many,
    numpy_file,
    optimiser,
    pipe,
    sparse,
    torch_file,
    zipped,
)

PAYLOADS: dict[str, Payload] = {
    "pickle": lambda r, o: Forged(r).disguise(pickle.dumps(Bomb(o / "trace"))),
    "old pickle": lambda r, o: Forged(r).disguise(pickle.dumps(Bomb(o / "trace"), 0)),
    "torch.save": lambda r, o: Forged(r).disguise(torch_file(Bomb(o / "trace"))),
    "old torch.save": lambda r, o: Forged(r).disguise(
        torch_file(Bomb(o / "trace"), _use_new_zipfile_serialization=False)
    ),
    "numpy objects": lambda r, o: Forged(r).disguise(numpy_file(Bomb(o / "trace"))),
    "pickle in the meta": lambda r, o: Forged(r).meta(
        json.dumps({"$": "pickle", "value": base64.b64encode(pickle.dumps(Bomb(o / "trace"))).decode()})
    ),
    "pickle in the config": lambda r, o: (r / "config.json").write_bytes(pickle.dumps(Bomb(o / "trace"))) and None,
    "zip bomb": lambda r, o: Forged(r).disguise(zipped("data.pkl", 2**28)),
    "zip of ../": lambda r, o: Forged(r).disguise(zipped("../../outside/trace", 10)),
    "gzip bomb": lambda r, o: Forged(r).disguise(gzip.compress(bytes(2**28), 1)),
    "header of 2⁶³ bytes": lambda r, o: Forged(r).header(b"{}", length=2**63),
    "header of 40 MB": lambda r, o: Forged(r).header(b"{" + b" " * 40_000_000 + b"}"),
    "200,000 tensors": lambda r, o: Forged(r).header(many("t", 200_000)),
    "shape of 2⁴⁰": lambda r, o: Forged(r).header(
        b'{"w":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4]}}', bytes(4)
    ),
    "shape that overflows": lambda r, o: Forged(r).header(
        b'{"w":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}}'
    ),
    "tensors on each other": lambda r, o: Forged(r).header(
        (
            "{"
            + ",".join(f'"w{i}":{{"dtype":"U8","shape":[4194304],"data_offsets":[0,4194304]}}' for i in range(1000))
            + "}"
        ).encode(),
        bytes(2**22),
    ),
    "meta nested 100,000 deep": lambda r, o: Forged(r).meta('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "meta of empty lists": lambda r, o: Forged(r).meta('{"a":[' + "[]," * 3_000_000 + "[]]}"),
    "meta with NaN": lambda r, o: Forged(r).meta('{"stage": NaN}'),
    "stage of 4,000 digits": lambda r, o: Forged(r).state(stage=HUGE),
    "records of 10¹²": lambda r, o: Forged(r).state(records=10**12, seconds="long"),
    "results that are words": lambda r, o: Forged(r).state(results={"exact": SCRIPT}),
    "weights that are NaN": lambda r, o: Forged(r).state(broken_weights(r)),
    "symbols that there are not": lambda r, o: Forged(r).state(chains(r, 10**9)),
    "learning rate that is a word": optimiser,
    "checkpoint by another name": lambda r, o: Forged(r).rename("0" * 64) and None,
    "a terabyte of nothing": sparse,
    "checkpoint that is /dev/zero": lambda r, o: Forged(r).gone().symlink_to("/dev/zero"),
    "checkpoint that is a pipe": lambda r, o: os.mkfifo(Forged(r).gone()),
    "checkpoint that is a folder": lambda r, o: Forged(r).gone().mkdir(),
    "config that is a pipe": pipe("config.json"),
    "metrics that are a pipe": pipe("metrics.jsonl"),
    "gallery that is a pipe": pipe("gallery.jsonl"),
    "summary that is a pipe": pipe("summary.json"),
    "config nested 100,000 deep": lambda r, o: (r / "config.json").write_text('{"a":' * 100_000) and None,
    "config of 20 MB": lambda r, o: (r / "config.json").write_text('{"a":"' + "x" * 20_000_000 + '"}') and None,
    "config of empty lists": lambda r, o: (
        (r / "config.json").write_text('{"a":[' + "[]," * 3_000_000 + "[]]}") and None
    ),
    "10¹⁵ training examples": lambda r, o: Forged(r).config("hwf", train_size=10**15),
    "images of 10⁷ pixels a side": lambda r, o: Forged(r).config("hwf", image_size=10**7, train_size=2),
    "formulas of 10¹² symbols": lambda r, o: Forged(r).config("hwf", length=10**12 + 1),
    "numbers of 10¹¹ digits": lambda r, o: Forged(r).config("addition", digits=10**11),
    "graphs of 10⁹ vertices": lambda r, o: Forged(r).config("sdsp", nodes=10**9),
    "seed of 4,000 digits": lambda r, o: Forged(r).config(seed=HUGE),
    "data in /dev": lambda r, o: Forged(r).config("hwf", data="folder", data_dir="/dev"),
    "data in ../../..": lambda r, o: Forged(r).config("sudoku", data="mnist", data_dir="../../../../proc/self"),
    "options that steer a terminal": lambda r, o: Forged(r).config(**{ESCAPE: ESCAPE}),
    "lines of empty lists": lambda r, o: (
        [
            (r / name).write_text(('{"epochs":1,"predicted":[' + "[]," * 40_000 + "[]]}\n") * 250)
            for name in ("metrics.jsonl", "gallery.jsonl")
        ]
        and None
    ),
    "lines of objects, all that is read": lambda r, o: (
        [
            (r / name).write_text(('{"epochs":1,"predicted":[],"a":' + '{"a":' * 500 + "1" + "}" * 501 + "\n") * 4_150)
            for name in ("metrics.jsonl", "gallery.jsonl")
        ]
        and None
    ),
    "lines with infinity": lambda r, o: (r / "metrics.jsonl").write_text('{"loss": Infinity}\n' * 5) and None,
    "numbers of 4,000 digits": lambda r, o: (
        [
            (r / name).write_text(json.dumps({"loss": HUGE, "seconds": {"total": HUGE}, "wall_seconds": HUGE}) + "\n")
            for name in ("summary.json", "metrics.jsonl")
        ]
        and None
    ),
    "report of huge numbers": lambda r, o: Forged(r).document("report.json", lucky=HUGE, held_out=HUGE, wrong=HUGE),
    "markup in every text": injected,
    "links instead of new files": linked(
        *(
            f".{name}.tmp"
            for name in ("config.json", "summary.json", "metrics.jsonl", "gallery.jsonl", "report.json", "report.html")
        )
    ),
    "links instead of results": linked("report.html", "summary.json"),
    "metrics that are a link": linked("metrics.jsonl"),
    "gallery that is a link": linked("gallery.jsonl"),
    "lock that is a link": linked(".lock"),
    "logs that are a link": logged,
}

__all__ = ["PAYLOADS"]
