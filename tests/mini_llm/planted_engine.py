"""Faults of an engine, put back in one at a time; the checks are those of engine_checks.py. Adds to FAULTS."""

import engine_checks
from engine_checks import CHECKS
from planted_faults import fault

from mini_llm import engine, executor, scheduler
from mini_llm.engine import LLM
from mini_llm.executor import Executor
from mini_llm.scheduler import Request, Scheduler


@fault("vllm 57475: capture needs more than was set aside", CHECKS["what_is_set_aside_is_enough"])
def _(monkeypatch):
    monkeypatch.setattr(executor, "largest_of_each_kind", lambda keys: [min(keys, key=lambda key: key.num_tokens)])


@fault("vllm 55238: answers that differ by rounding only", CHECKS["answers_may_part_at_a_tie_only"])
def _(monkeypatch):
    monkeypatch.setattr(engine_checks, "same_up_to_ties", lambda logits, expected, got, tolerance: expected == got)


@fault("a chunk of a prompt is taken for all of it", CHECKS["long_prompts_run_in_chunks"])
def _(monkeypatch):
    monkeypatch.setattr(Request, "waits_for_token", True)


@fault("rows of logits go to other requests", CHECKS["requests_join_and_leave"])
def _(monkeypatch):
    whole = engine.pick_tokens
    monkeypatch.setattr(engine, "pick_tokens", lambda logits, *rest: whole(logits, *rest)[::-1])


@fault(
    "a preempted request believes its keys are still there",
    CHECKS["preempted_requests_go_on"],
    (AssertionError, ValueError),
)
def _(monkeypatch):
    def release(self, request):
        self.running.remove(request)
        self.pool.free(request.blocks)
        request.blocks = []

    def schedule(self):
        batch = whole(self)
        return [(request, min(n, len(request.tokens) - request.computed)) for request, n in batch]

    whole = Scheduler.schedule
    monkeypatch.setattr(Scheduler, "_release", release)
    monkeypatch.setattr(Scheduler, "schedule", schedule)


@fault("the oldest gives way", CHECKS["preempted_requests_go_on"], (AssertionError, ValueError))
def _(monkeypatch):
    whole = Scheduler._preempt

    def preempt(self, request):
        whole(self, self.running[0])

    monkeypatch.setattr(Scheduler, "_preempt", preempt)


@fault("blocks of those that ended are lost", CHECKS["requests_join_and_leave"])
def _(monkeypatch):
    whole = Scheduler.finish

    def finish(self, request, reason):
        request.blocks = request.blocks[1:]
        whole(self, request, reason)

    monkeypatch.setattr(Scheduler, "finish", finish)


@fault("the null block is handed out", CHECKS["the_null_block_is_nobodys"])
def _(monkeypatch):
    class Pool(scheduler.BlockPool):
        def allocate(self, n):
            blocks = super().allocate(n)
            if blocks == [0]:
                self.free(blocks)
                self._free.rotate(1)
            return blocks

    monkeypatch.setattr(scheduler, "BlockPool", Pool)


@fault("one seed for the whole batch", CHECKS["a_seed_gives_the_same_text_in_any_company"])
def _(monkeypatch):
    whole = engine.pick_tokens

    def one_for_all(logits, params, draws):
        return whole(logits, params, [draws[0]] * len(draws))

    monkeypatch.setattr(engine, "pick_tokens", one_for_all)


@fault("a mixed batch runs eagerly, though it has graphs", CHECKS["every_mode_runs_what_it_is_for"])
def _(monkeypatch):
    whole = Executor.run

    def run(self, batch):
        if batch.query_len() is None:
            self.steps[executor.CUDAGraphMode.NONE] += 1
            return self._run_eagerly(batch)
        return whole(self, batch)

    monkeypatch.setattr(Executor, "run", run)


@fault("a request that leaves stays in the batch", CHECKS["requests_join_and_leave"])
def _(monkeypatch):
    monkeypatch.setattr(LLM, "abort", lambda self, request_id: None)


@fault("logits are sampled after the next step has run", CHECKS["requests_join_and_leave"])
def _(monkeypatch):
    whole, late = Executor.run, []

    def run(self, batch):
        rows = whole(self, batch)
        late.append(rows)
        return late[-2][: len(rows)] if len(late) > 1 and len(late[-2]) >= len(rows) else rows

    monkeypatch.setattr(Executor, "run", run)
