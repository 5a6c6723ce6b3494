"""The judge panel: `kit.judge(133, "pad_to")` as the last line of a cell."""

from __future__ import annotations

import html
import sys
import threading

from grader import problems, progress
from grader.cells import differences
from grader.problems import Problem
from kit.judging import Report, hints_for, judge_later, judge_now
from kit.report import as_html, as_text, last_time
from kit.theme import CSS


class Shown:
    """A widget that shows `text` where widgets are not rendered: in a diff, on GitHub, in a terminal."""

    def __init__(self, widget, text: str):
        self.widget, self.text = widget, text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **options):
        bundle = self.widget._repr_mimebundle_(**options) if self.widget is not None else {}
        bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**bundle, "text/plain": self.text}


def judge(problem: int | str, part: str | None = None) -> Panel:
    """The judge of a problem, or of one of its parts, as a panel with a button.

    Raises grader's ProblemError for a problem or a part that does not exist.
    """
    found = problems.get(problem)
    if part is not None and part not in found.parts:
        raise problems.ProblemError(
            f"problem {found.id} has no part {part!r}; it has {', '.join(found.parts)}."
        )
    return Panel(found, part)


def _only_in_notebook(problem: Problem, names) -> list[str]:
    """Functions that a plain cell defined: the notebook has them, the file that is judged does not."""
    module = sys.modules.get(f"mini_llm.{problem.module.removesuffix('.py').replace('/', '.')}")
    space = _namespace()
    mine = [n for n in names if getattr(space.get(n), "__module__", None) == "__main__"]
    return [
        f"{name} is defined in the notebook, not in the file: is the %%grow line missing?"
        for name in mine
        if space[name] is not getattr(module, name, None)
    ]


def _namespace() -> dict:
    from IPython import get_ipython

    shell = get_ipython()
    return shell.user_ns if shell else {}


class Panel(Shown):
    """A button, and the report of the last run. `run()` judges at once and prints the report as text."""

    def __init__(self, problem: Problem, part: str | None):
        self.problem, self.part = problem, part
        self.report: Report | None = None
        name = f"problem {problem.id}" + (f", {part}" if part else "")
        how = f"python judge.py {problem.id}" + (f" --part {part}" if part else "")
        super().__init__(
            self._widget(), f"The judge of {name}: press its button, or run `{how}` in a terminal."
        )

    def run(self) -> str:
        """Judges now, prints the report, and returns the verdict."""
        for line in self._differences():
            print(line)
        self.report = judge_now(self.problem, self.part)
        print(as_text(self.problem, self.part, self.report))
        return self.report.verdict

    def _differences(self) -> list[str]:
        said = differences(self.problem)
        about = [line for line in said if not self.part or line.startswith(f"{self.part}:")]
        return [*_only_in_notebook(self.problem, [self.part] if self.part else self.problem.names), *about]

    def _widget(self):
        try:
            import ipywidgets as w
        except ImportError:
            return None
        title = html.escape(f"Judge {self.part or f'problem {self.problem.id}'}")
        wide = w.Layout(width="auto", min_width="7rem")
        self.button = w.Button(description="Judge", tooltip=title, button_style="primary", layout=wide)
        self.button.on_click(lambda _: self.click())
        self.status, self.warning = w.HTML(), w.HTML()
        self.result = w.HTML(last_time(self.problem, self.part))  # a notebook opened again knows where it was
        row = [self.button]
        self.hints = hints_for(self.problem, self.part)
        self.hints_shown = 0
        if self.hints:
            self.hint = w.Button(tooltip="Show the next hint", layout=wide)
            self.hint.on_click(lambda _: self.next_hint())
            self.hint_text = w.HTML()
            self._name_hint()
            row.append(self.hint)
        own = w.Layout(width="auto", min_width="7rem")  # a shared one would hide the other buttons with it
        self.explain = w.Button(description="Explanation", layout=own)
        self.explain.on_click(lambda _: self.show_explanation())
        self.explanation = w.HTML()
        self._offer_explanation()
        row.append(self.explain)
        below = [self.hint_text] if self.hints else []
        below.append(self.explanation)
        return w.VBox([w.HTML(CSS), w.HBox([*row, self.status]), self.warning, self.result, *below])

    def click(self) -> None:
        """Starts a judgement in the background; the panel follows it."""
        self.button.disabled, self.button.description = True, "Judging …"
        self._warn(self._differences())
        finished = threading.Event()

        def done(report: Report) -> None:
            finished.set()
            self.report = report
            notes = [
                n for n in report.data.get("notes", []) if not self.part or n.startswith(f"{self.part}:")
            ]
            self._warn(dict.fromkeys([*self._differences(), *notes]))
            self.result.value = f'<div class="kit-box">{as_html(self.problem, self.part, report)}</div>'
            self._offer_explanation()
            self.button.disabled, self.button.description = False, "Judge again"
            self.status.value = ""

        def count() -> None:
            seconds = 0
            while not finished.wait(1.0):
                seconds += 1
                self.status.value = f'<span class="kit-note">{seconds} s</span>'

        judge_later(self.problem, self.part, done)
        threading.Thread(target=count, daemon=True).start()

    def _warn(self, lines) -> None:
        text = "".join(f'<p class="kit-warn">{html.escape(line)}</p>' for line in lines)
        self.warning.value = f'<div class="kit-box">{text}</div>' if text else ""

    def _offer_explanation(self) -> None:
        """The button appears once the whole problem is accepted: the text gives the answers away."""
        whole = self.report is not None and self.report.accepted and self.part is None
        ready = whole or progress.status(self.problem) == "accepted"
        there = bool(self.problem.section("Explanation"))
        self.explain.layout.display = None if ready and there else "none"

    def show_explanation(self) -> None:
        from markdown_it import MarkdownIt

        text = MarkdownIt().enable("table").render(self.problem.section("Explanation"))
        self.explanation.value = f'<div class="kit-box"><div class="kit-title">Explanation</div>{text}</div>'

    def next_hint(self) -> None:
        from markdown_it import MarkdownIt

        self.hints_shown = min(self.hints_shown + 1, len(self.hints))
        shown = "".join(
            f'<div class="kit-title">Hint {n}</div>{MarkdownIt().render(hint)}'
            for n, hint in enumerate(self.hints[: self.hints_shown], 1)
        )
        self.hint_text.value = f'<div class="kit-box">{shown}</div>'
        self._name_hint()

    def _name_hint(self) -> None:
        left = len(self.hints) - self.hints_shown
        self.hint.description = (
            f"Hint {self.hints_shown + 1} of {len(self.hints)}" if left else "No more hints"
        )
        self.hint.disabled = not left
