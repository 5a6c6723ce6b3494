"""A problem of a few lines, to test scenes, handles and tensors: `CapturedStep` of mini_llm/graphs.py."""

from __future__ import annotations

from pathlib import Path

from grader import problems

FILES = {
    "problem.md": """---
id: 900
name: toy
title: A captured step
title_zh: 录制一步
chapter: 2
level: easy
minutes: 5
needs: [torch]
grows: {module: graphs.py, names: [CapturedStep]}
parts:
  CapturedStep: {tests: 3, points: 1}
limits: {import_s: 10, call_s: 10, memory_mib: 4096, reply_mib: 4}
---
## Statement
A captured step.
""",
    "scene.py": """
import torch

class Scaled:
    factor = 2.0

    def __call__(self, x):
        return x * self.factor

def scaled(solution):
    return Scaled()

def set_factor(solution, step, factor):
    step.factor = factor
""",
    "test_hidden.py": '''
import torch

def test_CapturedStep_reads_its_buffers(check, rng):
    """Each replay reads what is in the buffers now."""
    for dtype in (torch.float32, torch.bfloat16):
        script = check.script()
        step = script.scene("scaled")
        captured = script.make("CapturedStep", step, torch.zeros(3, dtype=dtype))
        script.ask_scene("set_factor", step, 7.0, want=None)  # or the step itself would pass
        for _ in range(2):
            x = torch.tensor([rng.randint(1, 99) for _ in range(3)]).to(dtype)
            script.ask(captured, "", x, want=2 * x)

def test_CapturedStep_bakes_in_numbers(check, rng):
    """A Python number keeps the value it had at capture."""
    script = check.script()
    step = script.scene("scaled")
    captured = script.make("CapturedStep", step, torch.zeros(3))
    script.ask_scene("set_factor", step, 5.0, want=None)
    x = torch.tensor([rng.random() for _ in range(3)])
    script.ask(captured, "", x, want=2 * x, tolerance=1e-6)

def test_CapturedStep_refuses_another_shape(check):
    """Inputs of another shape are refused."""
    script = check.script()
    captured = script.make("CapturedStep", script.scene("scaled"), torch.zeros(3))
    script.refuses(captured, "", torch.zeros(4), words=["4"])
''',
    "test_examples.py": '''
def test_CapturedStep_example(check):
    """An example."""
    check.script().scene("scaled")
''',
    "mutants/runs_eagerly.py": '''# verdict: wrong answer
# diagnosis: the step ran again instead of its graph
class CapturedStep:
    def __init__(self, step, *examples):
        self.step, self.shape = step, examples[0].shape
    def __call__(self, x):
        if x.shape != self.shape:
            raise ValueError(f"shape {list(x.shape)}")
        return self.step(x)
''',
    "mutants/forgets_to_copy.py": '''# verdict: wrong answer
# diagnosis: the inputs were not copied in
class CapturedStep:
    def __init__(self, step, *examples):
        self.graph = capture(step, *[e.clone() for e in examples])
    def __call__(self, *inputs):
        return self.graph.replay().clone()
''',
    "mutants/answers_an_object.py": '''# verdict: wrong answer
# diagnosis: the answer came in an object of its own
class Answer:
    pass

class CapturedStep:
    def __init__(self, *inputs): pass
    def __call__(self, *inputs):
        return Answer()
''',
}


def install(folder: Path, monkeypatch) -> problems.Problem:
    """Writes the problem below `folder` and makes it the only one there is."""
    place = folder / "problems" / "900_toy"
    (place / "mutants").mkdir(parents=True)
    for name, text in FILES.items():
        (place / name).write_text(text)
    monkeypatch.setattr(problems, "PROBLEMS", place.parent)
    problems.load_all.cache_clear()
    monkeypatch.setattr(problems, "load_all", problems.load_all.__wrapped__)
    return problems.get(900)


def right() -> str:
    return (problems.ROOT / "mini_llm" / "graphs.py").read_text(encoding="utf-8")


def mutant(name: str) -> str:
    return right() + FILES[f"mutants/{name}.py"]
