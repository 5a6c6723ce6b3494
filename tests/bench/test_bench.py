"""The benchmarks on a tiny shape: they run, they print a table and a last JSON line, and a broken rung is only one."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import decode  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import replay_cost  # noqa: E402
import startup  # noqa: E402

TINY = ["--config", "tiny", "--device", "cpu"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    whole = measure.time_ms
    for module in (decode, replay_cost, measure):
        monkeypatch.setattr(module, "time_ms", lambda fn, device, budget_ms=0: whole(fn, device, 0.1))
    yield
    torch.set_num_threads(before)


def last_line(capsys):
    lines = capsys.readouterr().out.splitlines()
    return json.loads(lines[-1]), lines[:-1]


def test_decode_runs_the_ladder(capsys, tmp_path):
    out = tmp_path / "decode.json"
    rungs = ["eager", "one graph", "final", "engine"]
    decode.main([*TINY, "--batches", "1", "3", "--contexts", "20", "--rungs", *rungs, "--out", str(out)])
    result, lines = last_line(capsys)
    assert json.loads(out.read_text()) == result and result["failures"] == []
    assert [(row["batch"], row["rung"]) for row in result["rows"]] == [(b, r) for b in (1, 3) for r in rungs]
    for row in result["rows"]:
        assert row["ms"] > 0 and row["kernels"] > 0 and row["x_floor"] > 0 and 0 < row["bandwidth"]
        assert row["replays"] == (0 if row["rung"] == "eager" else 1)
        assert row["gpu_waits"] is None  # nobody waits where there is no GPU
        assert row["error"] is None if row["rung"] == "engine" else row["error"] < 1e-5
    assert {"device", "driver", "versions", "date", "command", "floor_ms"} <= set(result)
    table = next(i for i, line in enumerate(lines) if "GPU waits" in line)
    assert len(lines[table:]) == 9 and "one graph" in lines[table + 2]


def test_no_two_cells_of_the_ladder_share_a_block():
    """Every rung writes its new keys into the cache: a cell whose blocks another one writes is measured wrong."""
    ladder = decode.Ladder("tiny", "cpu", [1, 3], [16, 40])
    tables = [t for size in (1, 3) for context in (16, 40) for t in ladder.batch(size, context).block_tables]
    blocks = [block for table in tables for block in table]
    assert len(set(blocks)) == len(blocks) and 0 not in blocks and max(blocks) < len(ladder.kv.k[0])


def test_pieces_replay_many_times(capsys, monkeypatch):
    """With pieces that are not compiled: compiling takes a minute here."""
    from mini_llm.piecewise import split_step

    monkeypatch.setattr(decode.Ladder, "compiled", lambda self, fusions: split_step(self.model))
    rungs = ["eager", "compiled", "compiled + graph", "piecewise", "fused + graph"]
    decode.main([*TINY, "--batches", "1", "--contexts", "20", "--rungs", *rungs])
    result, _ = last_line(capsys)
    assert result["failures"] == [] and [row["replays"] for row in result["rows"]] == [0, 0, 1, 3, 1]


def test_a_rung_that_fails_loses_no_other(capsys, monkeypatch):
    def broken(*_):
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(decode, "FinalStep", broken)
    decode.main([*TINY, "--batches", "1", "--contexts", "20", "--rungs", "eager", "final", "one graph"])
    result, _ = last_line(capsys)
    assert [row["rung"] for row in result["rows"]] == ["eager", "one graph"]
    assert result["failures"][0].startswith("final, batch 1, context 20: RuntimeError: no such kernel")


def test_a_rung_with_wrong_logits_is_no_result(capsys, monkeypatch):
    whole = decode.FinalStep.__call__
    monkeypatch.setattr(decode.FinalStep, "__call__", lambda self, inputs: whole(self, inputs).mul_(-1))
    decode.main([*TINY, "--batches", "1", "--contexts", "20", "--rungs", "eager", "final"])
    result, _ = last_line(capsys)
    assert len(result["rows"]) == 1 and "logits differ" in result["failures"][0]


def test_out_of_time(capsys):
    decode.main([*TINY, "--batches", "1", "--contexts", "20", "--seconds", "0", "--peers"])
    result, _ = last_line(capsys)
    assert result["rows"] == [] and all("no time left" in failure for failure in result["failures"])
    assert len(result["failures"]) == len(decode.RUNGS) + 2


def test_decode_with_peers(capsys):
    pytest.importorskip("transformers")
    decode.main([*TINY, "--batches", "1", "--contexts", "20", "--rungs", "eager", "final", "--peers"])
    result, lines = last_line(capsys)
    assert len(result["peers"]) == 2 and all(row["times_final"] > 0 for row in result["peers"])
    assert any("times our final step" in line for line in lines)


def test_peers(capsys):
    pytest.importorskip("transformers")
    peers.main([*TINY, "--new-tokens", "8"])
    result, lines = last_line(capsys)
    assert [row["peer"] for row in result["rows"]] == ["transformers eager", "transformers static cache + compile"]
    assert all(row["ms"] > 0 for row in result["rows"]) and result["failures"] == []


def test_replay_cost(capsys):
    replay_cost.main(["--device", "cpu", "--nodes", "1", "40", "--replays", "5"])
    result, lines = last_line(capsys)
    few, many = result["rows"]
    assert (few["nodes"], many["nodes"]) == (1, 40) and 0 < few["cpu_us"] < many["cpu_us"]
    assert "CPU us" in lines[0] and len(lines) == 3


def test_startup_starts_twice(capsys):
    """Level 0, so that nothing is compiled here; the processes are real."""
    limits = ["--max-num-seqs", "4", "--max-num-batched-tokens", "16", "--max-model-len", "64", "--level", "0"]
    startup.main([*TINY, *limits])
    result, lines = last_line(capsys)
    assert [row["start"] for row in result["rows"]] == ["cold", "warm"] and result["failures"] == []
    assert all(row["start_s"] > 0 and row["mode"] == "NONE" for row in result["rows"])
    assert "capture s" in lines[0]


def test_startup_counts_the_default_ladder(monkeypatch):
    """Without its two processes, and without capturing: which sizes a default engine would capture."""
    from mini_llm.executor import Executor

    monkeypatch.setattr(Executor, "capture", lambda self, progress: None)
    monkeypatch.setattr(Executor, "bytes_to_reserve", lambda self: 0)
    monkeypatch.setattr("mini_llm.engine.LLM._step", lambda self: None)
    monkeypatch.setattr("mini_llm.engine.LLM.generate", lambda self, *_: [])
    arguments = SimpleNamespace(
        config="tiny", device="cpu", level=2, sizes=None,
        max_num_seqs=256, max_num_batched_tokens=8192, max_model_len=128,
    )  # fmt: skip
    assert startup.start_once(arguments)["sizes"] == {"piecewise": 51, "full": 35}


def test_records_are_written_where_chapters_look(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    replay_cost.main(["--device", "cpu", "--nodes", "1", "--replays", "2", "--record", "replay_cost"])
    result, _ = last_line(capsys)
    assert json.loads((tmp_path / "course" / "recorded" / "replay_cost.json").read_text()) == result


def test_as_programs():
    for name in ("decode", "peers", "startup", "replay_cost", "judge"):
        done = subprocess.run([sys.executable, f"bench/{name}.py", "--help"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0 and "--record" in done.stdout


def test_the_judge_is_compared_with_plain_pytest(tmp_path):
    command = [sys.executable, str(ROOT / "bench" / "judge.py"), "134", "--rounds", "1"]
    done = subprocess.run([*command, "--out", str(tmp_path / "out.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert json.loads((tmp_path / "out.json").read_text()) == result
    assert [row["problem"] for row in result["rows"]] == ["134_default_ladder"]
    assert all(row["ratio"] > 0 and row["watch_s"] > 0 and row["sandbox"] for row in result["rows"])
    assert result["device"] and result["versions"]["torch"]
    assert result["command"].startswith("python bench/judge.py 134")
