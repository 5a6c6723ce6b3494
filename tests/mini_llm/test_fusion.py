"""The compiled step: what the pass puts in, how often the compiler runs, that compiled code is what runs, the key."""

import os
import re
import shutil
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest
import torch
from torch._inductor import metrics
from torch.fx.experimental.proxy_tensor import make_fx

from mini_llm import Config, ModelRunner, PagedKVCache, Transformer, build_batch, compile_cache, fusion, kernels
from mini_llm.attention import PerTokenSDPABackend, ReferenceBackend, SDPABackend, forward_context
from mini_llm.batch import StepBuffers
from mini_llm.bucket_runner import BucketRunner
from mini_llm.compile_cache import CompileKey, KeptCompiler
from mini_llm.fused_ops import cache_rows
from mini_llm.fusion import Version, compile_step, fuse, merge_products, versions
from mini_llm.layers import RMSNorm
from mini_llm.piecewise import PiecewiseRunner, trace_step

aten = torch.ops.aten
BLOCK, WIDTH = 4, 8
SIZES = [1, 2, 4, 8, 16, 21]
QWEN3 = Config(101, 64, 80, 2, 4, 2, qk_norm=True)
CONFIGS = {"qwen3": QWEN3, "llama": replace(QWEN3, qk_norm=False)}
CONFIGS["qwen2"] = replace(CONFIGS["llama"], attention_bias=True)
DEVICES = ["cpu", *([pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else [])]


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """One thread, a cache of its own, and the plain twins of kernels: Triton's interpreter would take minutes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("MINI_LLM_CACHE", str(tmp_path))
    monkeypatch.setattr(kernels, "INTERPRETED", False)
    yield
    torch.set_num_threads(threads)


def sharp_model(cfg=QWEN3, device="cpu", dtype=torch.float32):
    model = Transformer.random(cfg, dtype, device, seed=2)
    for name, weight in model.named_parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)
        if name.endswith("bias"):
            weight.data.mul_(20)
    return model


def cache(cfg=QWEN3, blocks=80, device="cpu"):
    return PagedKVCache(cfg.num_hidden_layers, blocks, BLOCK, cfg.num_key_value_heads, cfg.hd, device=device)


TABLES = [[79 - WIDTH * r - i for i in range(WIDTH)] for r in range(8)]
# prefill, mixed, decode, one token, and more than any graph takes
BATCHES = [
    [([1, 2, 3], 0, TABLES[0], True), ([4, 5], 0, TABLES[1], True)],
    [([6], 3, TABLES[0], True), ([7, 8, 9], 2, TABLES[1], True), ([1] * 9, 0, TABLES[2], False)],
    [([3], 4, TABLES[0], True), ([3], 5, TABLES[1], True), ([4], 9, TABLES[2], True)],
    [([5], 6, TABLES[1], True)],
    [(list(range(1, 24)), 0, TABLES[3], True), ([8], 5, TABLES[0], True), ([1], 10, TABLES[2], True)],
]


def agree(ours, theirs):
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max()  # nan never agrees


def eager(graph_module, examples):
    """A compiler that leaves a piece as it is."""
    return graph_module


def check_agrees(model, step, kv, backend, captured):
    device = model.embed_tokens.weight.device
    runner = PiecewiseRunner(step, kv, backend, StepBuffers(48, 8, WIDTH, device), SIZES)
    if captured:
        runner.capture()
    plain = ModelRunner(model, cache(model.cfg, device=device))
    for items in BATCHES:
        batch = build_batch(items, BLOCK)
        agree(runner.run(batch), plain.forward(batch))
    return runner


class Counting:
    """A compiler that makes nothing faster, and keeps count of what it compiled and how often that ran."""

    def __init__(self):
        self.compiled, self.runs = [], 0

    def __call__(self, graph_module, examples):
        # the number of tokens, or a symbol for any number: a piece takes in ids, or what attention gave
        self.compiled.append(next(x.shape[0] for x in examples if x.dtype is torch.int64 or x.shape[1:] == (4, 16)))

        def run(*args):
            self.runs += 1
            return graph_module(*args)

        return run


# --- the pass -------------------------------------------------------------------------------------


def operators(graph_module):
    return [node.target for node in graph_module.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_pass_replaces_every_place_in_every_layer(name, dtype):
    model = sharp_model(CONFIGS[name], dtype=dtype)
    graph_module = trace_step(model)
    before = operators(graph_module)
    put = fuse(graph_module, CONFIGS[name], max_positions=64)
    after = operators(graph_module)
    assert put == {"products": 4, "add_rms_norm": 4, "silu_mul": 2, "norm_rope_write": 2}
    names = [str(target) for target in after]
    for op, times in {"add_rms_norm": 4, "silu_mul": 2, "norm_rope_write": 2, "attention": 2}.items():
        assert names.count(f"mini_llm.{op}.default") == times
    products = [aten.mm.default, aten.addmm.default]
    assert (sum(map(before.count, products)), sum(map(after.count, products))) == (14, 8)
    # the norm of the embedding, before the first layer, has nothing to add: it is left to the compiler
    assert after.count(aten.rsqrt.default) == 1 and before.count(aten.rsqrt.default) == (9 if model.cfg.qk_norm else 5)
    assert aten.cos.default not in after and aten.silu.default not in after
    assert len(after) < len(before) / 2


@pytest.mark.parametrize("name", CONFIGS)
def test_the_fused_step_computes_the_same(name):
    model = sharp_model(CONFIGS[name])
    kv = cache(CONFIGS[name])
    step = compile_step(model, kv, compiler=eager)
    check_agrees(model, step, kv, SDPABackend(), captured=False)


@pytest.mark.parametrize("missing", ["_qkv_pattern", "_silu_mul_pattern"])
def test_a_pattern_that_is_not_found_is_said_and_the_step_still_right(missing, monkeypatch, caplog):
    monkeypatch.setattr(fusion, missing, lambda cfg, dtype: (lambda x: x.cos().cos(), torch.zeros(3)))
    model, kv = sharp_model(), cache()
    step = compile_step(model, kv, compiler=eager)
    assert "fusions are missing" in caplog.text
    check_agrees(model, step, kv, SDPABackend(), captured=False)


def test_a_fused_step_writes_keys_and_values_itself_and_none_for_padding():
    model, kv = sharp_model(), cache()
    step = compile_step(model, kv, compiler=eager)
    inputs = StepBuffers(8, 8, WIDTH).view(8, 8, uniform=True)  # all padding
    with forward_context(kv, SDPABackend(), inputs):
        step(inputs)
    assert not any(part.any() for part in (*kv.k, *kv.v))
    for items in BATCHES[:1]:
        inputs = StepBuffers(8, 8, WIDTH).set(build_batch(items, BLOCK))
        with forward_context(cache(), SDPABackend(), inputs):  # attention has another cache, and writes nothing to it
            step(inputs)
    assert all(part.any() for part in (*kv.k, *kv.v))


def test_a_fused_step_without_a_cache_says_so():
    step = compile_step(sharp_model(), compiler=eager)
    with pytest.raises(RuntimeError, match="use_cache"):
        step(StepBuffers(8, 8, WIDTH).view(8))


@pytest.mark.parametrize("read_again", [False, True])
def test_what_somebody_else_reads_is_not_overwritten(read_again):
    gain, w = torch.ones(64), torch.randn(64, 64)

    def step(input_ids, positions):
        delta = input_ids @ w
        total = input_ids + delta
        normed = RMSNorm.forward(SimpleNamespace(weight=gain, eps=QWEN3.rms_norm_eps), total)
        return normed + positions + total + (delta if read_again else 0)

    x, y = torch.randn(2, 3, 64)
    graph_module = make_fx(step, _allow_non_fake_inputs=True)(x, y)
    for node, name in zip(graph_module.graph.find_nodes(op="placeholder"), ("input_ids", "positions"), strict=True):
        node._rename(name)
    assert fuse(graph_module, QWEN3, 8)["add_rms_norm"] == (not read_again)
    names = [node.name for node in graph_module.graph.find_nodes(op="placeholder")]
    given = dict(zip(names, [None] * len(names), strict=True)) | {"input_ids": x, "positions": y}
    torch.testing.assert_close(graph_module(*given.values()), step(x, y))


def test_products_of_one_x_become_one_and_no_weight_is_kept_twice():
    model = sharp_model(CONFIGS["qwen2"])
    ids = torch.arange(5)[None]
    before = model(ids)
    assert merge_products(trace_step(model)) == 4
    for layer in model.layers:
        attn, mlp = layer.self_attn, layer.mlp
        for group in ([attn.q_proj, attn.k_proj, attn.v_proj], [mlp.gate_proj, mlp.up_proj]):
            weights = [part.weight for part in group]
            assert len({weight.untyped_storage().data_ptr() for weight in weights}) == 1
            assert weights[0].untyped_storage().nbytes() == sum(weight.nbytes for weight in weights)
    assert torch.equal(model(ids), before)


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_say_truly_what_they_do(device):
    """The compiler trusts shapes and declared changes."""
    options = {"test_utils": ("test_schema", "test_faketensor")}
    x, delta, gain = torch.randn(5, 64, device=device), torch.randn(5, 64, device=device), torch.ones(64, device=device)
    torch.library.opcheck(torch.ops.mini_llm.add_rms_norm.default, (x, delta, gain, 1e-6), **options)
    torch.library.opcheck(torch.ops.mini_llm.silu_mul.default, (torch.randn(5, 160, device=device),), **options)
    kv = cache(device=device)
    rows = cache_rows(kv)
    ids = torch.arange(5, device=device)
    arguments = [torch.randn(5, 128, device=device), rows["k_rows_1"], rows["v_rows_1"], [gain[:16], gain[:16]], 1e-6]
    arguments += [torch.randn(8, 16, device=device), ids, ids - 1]
    torch.library.opcheck(torch.ops.mini_llm.norm_rope_write.default, arguments, test_utils=("test_faketensor",))
    torch.ops.mini_llm.norm_rope_write(*arguments)
    assert kv.k[1].flatten(0, 1)[:4].any(-1).all() and not kv.k[1].flatten(0, 1)[4:].any() and not kv.k[0].any()


# --- how often the compiler runs ------------------------------------------------------------------


def test_versions():
    one, rest = Version(1, 1), Version(2, None)
    assert versions() == [one, rest]
    assert versions([8, 4, 4, 1]) == [one, Version(4, 4), Version(8, 8), rest]
    assert versions([], [8, 32]) == [one, Version(2, 8), Version(9, 32), Version(33, None)]
    assert versions([2], [2, 1]) == [one, Version(2, 2), Version(3, None)]
    for sizes, ends in ([0], []), ([], [0]), ([-3], [8]):
        with pytest.raises(ValueError, match="at least 1"):
            versions(sizes, ends)
    takers = [next(v for v in versions([4], [8]) if v.takes(n)) for n in (1, 2, 4, 8, 9, 10_000)]
    assert takers == [one, Version(2, 8), Version(4, 4), Version(2, 8), Version(9, None), Version(9, None)]


@pytest.mark.parametrize("fusions", [False, True])
@pytest.mark.parametrize("layers", [2, 5])
def test_three_pieces_in_two_versions_and_then_never_again(layers, fusions):
    """All sizes, other caches, with gradients on or off, eager or in graphs: no more than at start-up."""
    cfg = replace(QWEN3, num_hidden_layers=layers)
    model, compiler = sharp_model(cfg), Counting()
    step = compile_step(model, fusions=fusions, compiler=compiler)
    assert step.compilations == len(compiler.compiled) == 6
    for blocks in (80, 97):
        kv, buffers = cache(cfg, blocks), StepBuffers(48, 8, WIDTH)
        step.use_cache(kv)
        for n in range(1, 49):
            inputs = buffers.view(n)
            with forward_context(kv, PerTokenSDPABackend(), inputs), torch.set_grad_enabled(n % 2 == 0):
                step(inputs)
        runner = PiecewiseRunner(step, kv, ReferenceBackend(), buffers, SIZES)
        runner.capture()
        for items in BATCHES:
            runner.run(build_batch(items, BLOCK))
    assert len(compiler.compiled) == 6


def test_chosen_sizes_and_ranges_have_code_of_their_own():
    model, compiler = sharp_model(), Counting()
    step = compile_step(
        model, cache(), fusions=False, compile_sizes=[4], compile_ranges_endpoints=[8], compiler=compiler
    )
    assert len(compiler.compiled) == step.compilations == 3 * 4
    one, four, *ranges = compiler.compiled[:4]  # of the first piece
    assert (one, four) == (1, 4)
    bounds = [symbol.node.shape_env.bound_sympy(symbol.node.expr) for symbol in ranges]
    assert [int(b.lower) for b in bounds] == [2, 9] and int(bounds[0].upper) == 8 and bounds[1].upper > 1000
    check_agrees(model, step, cache(), SDPABackend(), captured=True)
    assert len(compiler.compiled) == 12


def test_more_sizes_than_torch_would_recompile_one_function_for():
    cfg, compiler = replace(QWEN3, num_hidden_layers=1), Counting()
    step = compile_step(sharp_model(cfg), cache(cfg), compile_sizes=range(2, 12), compiler=compiler)
    assert len(compiler.compiled) == step.compilations == 2 * 12


# --- compiled code is what runs -------------------------------------------------------------------


@pytest.mark.parametrize("fusions", [False, True])
def test_at_each_replay_compiled_code_runs(fusions):
    model, kv, compiler = sharp_model(), cache(), Counting()
    step = compile_step(model, kv, fusions=fusions, compiler=compiler)
    runner = check_agrees(model, step, kv, SDPABackend(), captured=True)
    for items in BATCHES[:-1]:
        before = compiler.runs
        runner.run(build_batch(items, BLOCK))
        assert compiler.runs == before + 3  # two layers: three pieces

    def full(inputs):
        with forward_context(kv, SDPABackend(), inputs):
            return step(inputs)

    decode = BucketRunner(full, runner.buffers, [1, 2, 4], pool=runner.pool)
    decode.capture()
    before = compiler.runs
    plain = ModelRunner(model, kv)
    batch = build_batch(BATCHES[2], BLOCK)
    agree(decode.run(batch), plain.forward(batch))
    assert compiler.runs == before + 3


class Inductor(KeptCompiler):
    """The real compiler; keeps count of the kernels it made for each graph, and of how often its code ran."""

    def __init__(self, folder):
        super().__init__(folder)
        self.kernels, self.runs = [], 0

    def __call__(self, graph_module, examples):
        before = metrics.generated_kernel_count
        code = super().__call__(graph_module, examples)
        self.kernels.append(metrics.generated_kernel_count - before)

        def run(*args):
            self.runs += 1
            return code(*args)

        return run


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("fusions", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_inductors_code_in_graphs_and_a_second_start_that_compiles_nothing(fusions, device, tmp_path, monkeypatch):
    for start in ("cold", "warm"):
        model, kv = sharp_model(device=device), cache(device=device)
        compiler = Inductor(tmp_path)
        step = compile_step(model, kv, WIDTH * BLOCK, fusions=fusions, compiler=compiler)
        if start == "cold":
            first, *others = compiler.kernels[::2]
            # with fused operators, only the first norm and the embedding are left to the compiler
            assert first >= 1 and (others == [0, 0] if fusions else min(others) >= 1)
        before = compiler.runs
        check_agrees(model, step, kv, SDPABackend(), captured=True)
        # at every replay of a tape, and in the one batch without graphs; a GPU replays kernels, not this function
        assert compiler.runs - before >= (3 * len(BATCHES) if device == "cpu" else 3)
        monkeypatch.setattr("torch._inductor.standalone_compile", None)  # the second start does without


def test_damaged_code_is_compiled_again(tmp_path, caplog):
    cfg = replace(QWEN3, num_hidden_layers=1)
    model, kv = sharp_model(cfg), cache(cfg)
    for _ in range(2):
        step = compile_step(model, kv, fusions=False, compiler=KeptCompiler(tmp_path))
        for file in tmp_path.glob("[0-9]-*"):
            file.write_bytes(file.read_bytes()[:100])
    assert caplog.text.count("compiling again") == step.compilations == 4
    check_agrees(model, step, kv, SDPABackend(), captured=False)


def test_no_size_is_ever_compiled_again(tmp_path):
    """Inductor's code has no guards: one piece of code for 2 tokens and more, whatever their number."""
    model, kv = sharp_model(), cache()
    step = compile_step(model, kv, WIDTH * BLOCK, cache_dir=tmp_path)
    before = metrics.generated_kernel_count
    plain = ModelRunner(model, cache())
    for n in (1, 2, 3, 16, 31):
        batch = build_batch([(list(range(n)), 0, TABLES[0], True)], BLOCK)
        inputs = StepBuffers(48, 8, WIDTH).set(batch)
        with forward_context(kv, SDPABackend(), inputs):
            agree(step(inputs), plain.forward(batch))
    assert metrics.generated_kernel_count == before


def test_two_steps_of_one_model_share_its_weights_and_both_stay_right():
    model, kv = sharp_model(), cache()
    first = compile_step(model, kv, compiler=eager)
    runner = check_agrees(model, first, kv, SDPABackend(), captured=True)
    second = compile_step(model, cache(), compiler=eager)
    for name, weight in first.weights.items():
        assert name == "rope" or weight.data_ptr() == second.weights[name].data_ptr()
    for weight in model.parameters():
        weight.data.mul_(1.5)  # both see it, in graphs too
    plain = ModelRunner(model, cache())
    for items in BATCHES[:4]:
        batch = build_batch(items, BLOCK)
        agree(runner.run(batch), plain.forward(batch))


# --- the key --------------------------------------------------------------------------------------

SETTINGS = {
    "level": 2, "fusions": True, "compile_sizes": [1, 8], "compile_ranges_endpoints": [64], "max_num_seqs": 256,
    "max_num_batched_tokens": 8192, "max_positions": 4096,
}  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return sharp_model()


def test_each_field_changes_the_key(model):
    key = CompileKey.of(model, {"mode": "default"}, **SETTINGS)
    assert key.digest() == CompileKey.of(model, {"mode": "default"}, **SETTINGS).digest()
    changed = {int: lambda v: v + 1, bool: lambda v: not v, str: lambda v: v + " ", tuple: lambda v: (*v, 99)}
    digests = {key.digest()}
    for field in fields(CompileKey):
        if field.name != "model":
            value = getattr(key, field.name)
            digests.add(replace(key, **{field.name: changed[type(value)](value)}).digest())
    other = Config(102, 128, 96, 3, 8, 4, 1e-5, 1e6, True, False, True, 32)
    for field in fields(Config):
        cfg = replace(QWEN3, num_attention_heads=8) if field.name == "num_key_value_heads" else QWEN3
        cfg = replace(cfg, **{field.name: getattr(other, field.name)})
        digests.add(replace(key, model=cfg).digest())
    assert len(digests) == len(fields(CompileKey)) + len(fields(Config))


def test_the_machine_and_the_source_are_in_the_key(model, monkeypatch, tmp_path):
    def digest(**changes):
        return CompileKey.of(model, {}, **SETTINGS | changes).digest()

    before = digest()
    assert digest(compile_sizes=(8, 1, 8)) == before
    for name, value in {"max_num_seqs": 128, "max_num_batched_tokens": 2048, "level": 1, "fusions": False}.items():
        assert digest(**{name: value}) != before
    assert CompileKey.of(model, {"backend": "eager"}, **SETTINGS).digest() != before
    assert CompileKey.of(sharp_model(dtype=torch.bfloat16), {}, **SETTINGS).digest() != before

    with monkeypatch.context() as m:
        m.setattr(torch, "__version__", "9.9")
        assert digest() != before
    with monkeypatch.context() as m:
        m.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "other")
        assert digest() != before
    assert digest() == before

    package = tmp_path / "mini_llm"
    shutil.copytree(compile_cache.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compile_cache, "PACKAGE", package)
    assert digest() == before
    for name in ("step.py", "layers.py", "fused_ops.py", "kernels/elementwise.py"):
        text = (package / name).read_text()
        (package / name).write_text(text + "\n# another step\n")
        assert digest() != before
        (package / name).write_text(text)


def test_every_setting_of_compile_step_reaches_the_key(model):
    changes = [
        {}, {"fusions": False}, {"compile_sizes": [4]}, {"compile_ranges_endpoints": [8]}, {"level": 3},
        {"max_num_seqs": 8}, {"max_num_batched_tokens": 64}, {"max_positions": 99}, {"mode": "default"},
    ]  # fmt: skip
    seen, traced = [], trace_step(model)

    class Stop(Exception):
        pass

    def folder(key, root):
        seen.append(key.digest())
        raise Stop

    with pytest.MonkeyPatch.context() as m:
        m.setattr(CompileKey, "folder", folder)
        m.setattr(fusion, "fuse", lambda graph_module, cfg, max_positions: {})
        m.setattr(fusion, "trace_step", lambda model: traced)
        for change in changes:
            with pytest.raises(Stop):
                compile_step(model, **change)
    assert len(set(seen)) == len(changes)


def test_the_folder_says_what_it_is_for(model, tmp_path, monkeypatch):
    key = CompileKey.of(model, {}, **SETTINGS)
    monkeypatch.setenv("MINI_LLM_CACHE", str(tmp_path / "elsewhere"))
    folder = key.folder()
    assert folder == tmp_path / "elsewhere" / "compiled" / key.digest()
    assert re.search(r'"max_num_seqs": 256', (folder / "key.json").read_text())
    assert key.folder(tmp_path) == tmp_path / "compiled" / key.digest()


def test_the_folders_used_last_are_kept(model, tmp_path, monkeypatch):
    monkeypatch.setattr(compile_cache, "KEPT", 3)
    keys = [CompileKey.of(model, {}, **SETTINGS | {"max_num_seqs": n}) for n in range(1, 6)]
    for age, key in enumerate(keys[:4]):
        folder = key.folder(tmp_path)
        os.utime(folder / "key.json", (age, age))
    keys[1].folder(tmp_path)  # used again: no longer the oldest
    keys[4].folder(tmp_path)
    assert {folder.name for folder in (tmp_path / "compiled").iterdir()} == {keys[n].digest() for n in (1, 3, 4)}
