"""The ladder explorer: sliders for a server's settings, and what its ladder does to a batch."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from kit import reference
from kit.plots import BLUE, FAINT, INK, ORANGE, SOFT, Picture, dress, new_figure, png
from kit.theme import CSS

SERVERS = (1, 2, 3, 4, 8, 10, 16, 20, 32, 48, 64, 96, 100, 128, 160, 192, 224, 256, 257, 300, 384, 512, 1024)
MARGINS = {"left": 0.06, "right": 0.985, "top": 0.945, "bottom": 0.105, "hspace": 0.62, "wspace": 0.17}
WINDOW = 20  # batch sizes on each side of the chosen one, in the staircase


@dataclass(frozen=True)
class View:
    """One state of the explorer: a ladder, a batch, and the rung it runs at (None: no graph)."""

    sizes: tuple[int, ...]
    batch: int
    padded: int | None
    pads: tuple[int | None, ...]  # of batches 1 .. top

    @property
    def top(self) -> int:
        return self.sizes[-1]

    def batch_line(self) -> str:
        """What happens to the chosen batch, in a sentence."""
        if self.padded is None:
            return f"A batch of {self.batch} is above the top: it runs eager"
        rows = self.padded - self.batch
        if not rows:
            return f"A batch of {self.batch} is a rung: no padding"
        share = rows / self.padded
        padding = f"{rows} padded row{'s' * (rows > 1)}, {share:.1%} of the step"
        return f"A batch of {self.batch} runs at {self.padded}: {padding}"

    def means(self) -> list[tuple[str, str]]:
        """The three means that are all called 'the padding', over batches 1 .. top, each once."""
        stats = reference.load("buckets").padding_stats({n: 1 for n in range(1, self.top + 1)}, self.sizes)
        return [
            ("padded rows per step: mean of (padded − n)", f"{stats.rows_per_step:.2f}"),
            ("padded share of a step: mean of (padded − n) / padded", f"{stats.share_per_step:.2%}"),
            (
                "padded share of all rows run: sum of (padded − n) / sum of padded",
                f"{stats.share_of_rows:.2%}",
            ),
        ]

    def ladder_line(self) -> str:
        """How many sizes, and every one of them: a rung off the regular steps must not hide in a gap."""
        return f"{len(self.sizes)} size{'s' * (len(self.sizes) > 1)}: {' '.join(map(str, self.sizes))}"


def view(ladder: Callable, pad: Callable, max_num_seqs: int, interactivity: bool, batch: int) -> View:
    """The explorer's state for these settings."""
    sizes = tuple(ladder(max_num_seqs=max_num_seqs, interactivity=interactivity))
    pads = tuple(pad(n, list(sizes)) for n in range(1, sizes[-1] + 1))
    return View(sizes, batch, pad(batch, list(sizes)), pads)


class Drawing:
    """The picture: made once, then only its lines and areas move, so that it follows a slider."""

    def __init__(self) -> None:
        self.figure = new_figure(9, 4.5, **MARGINS)
        axes = self.figure.subplot_mosaic([["ladder", "ladder"], ["stairs", "share"]], height_ratios=[1, 2.6])
        self.axes = axes
        dress(axes["ladder"], " ")
        dress(axes["stairs"], " ", "batch size (requests)", "rows run")
        dress(axes["share"], " ", "batch size (requests), log scale", "padding, % of the step")
        self._make_ladder(axes["ladder"])
        self._make_stairs(axes["stairs"])
        self._make_share(axes["share"])

    def draw(self, now: View) -> bytes:
        """The picture of a state, as PNG."""
        self._ladder(self.axes["ladder"], now)
        self._stairs(self.axes["stairs"], now)
        self._share(self.axes["share"], now)
        return png(self.figure)

    def _make_ladder(self, axes) -> None:
        self.rungs = axes.vlines([], 0, 1, color=BLUE, lw=1.3)
        self.padding = axes.add_patch(Rectangle((0, 0), 0, 1, color=ORANGE, lw=0))
        (self.rung,) = axes.plot([], [], color=BLUE, lw=3)
        (self.pointer,) = axes.plot([], [], marker="^", color=INK, markersize=8, clip_on=False)
        axes.set(ylim=(0, 1), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.tick_params(pad=13)
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))

    def _ladder(self, axes, now: View) -> None:
        self.rungs.set_segments([[(s, 0), (s, 1)] for s in now.sizes])
        at = now.padded if now.padded is not None else now.batch
        self.padding.set(x=now.batch, width=at - now.batch)
        self.rung.set_data(([at, at], [0, 1]) if now.padded is not None else ([], []))
        self.pointer.set_data([now.batch], [-0.17])
        right = max(now.top, now.batch)
        axes.set_xlim(-right * 0.008, right * 1.015)
        _title(axes, f"The ladder: {len(now.sizes)} captured batch sizes, up to {now.top}")

    def _make_stairs(self, axes) -> None:
        self.useful = axes.stairs([0], [0, 1], fill=True, color="#dce8f2", lw=0)
        self.padded = axes.stairs([0], [0, 1], baseline=[0], fill=True, color=ORANGE, alpha=0.55, lw=0)
        self.steps = axes.stairs([0], [0, 1], baseline=None, color=BLUE, lw=2)
        self.eager = axes.add_patch(Rectangle((0, 0), 0, 1, color="#f1f2f4", lw=0))
        self.word = axes.text(0.985, 0.03, "eager", transform=axes.transAxes, ha="right", color=SOFT, fontsize=9)
        (self.here,) = axes.plot([], [], "-o", color=INK, lw=1.2, markersize=5, markevery=[1])

    def _stairs(self, axes, now: View) -> None:
        low = max(1, now.batch - WINDOW)
        high = low + min(2 * WINDOW, max(8, now.top))
        inside = list(range(low, min(high, now.top) + 1))
        rows = [now.pads[n - 1] or n for n in inside]
        edges = [n - 0.5 for n in [*inside, (inside or [low - 1])[-1] + 1]]
        self.useful.set_data(inside or [0], edges if inside else [0, 1])
        self.padded.set_data(rows or [0], edges if inside else [0, 1], inside or [0])
        self.steps.set_data(rows or [0], edges if inside else [0, 1])
        start = max(now.top, low - 1) + 0.5
        bottom, top = max(0, low - 4), max([*rows, high]) * 1.03 + 1
        self.eager.set_bounds(start, bottom, max(0, high + 0.5 - start), top - bottom)
        self.word.set_visible(start < high)
        self.here.set_data(([now.batch] * 2, [bottom, now.padded]) if now.padded is not None else ([0, 0], [-9, -9]))
        axes.set(xlim=(low - 0.5, high + 0.5), ylim=(bottom, top))
        _title(axes, now.batch_line().removesuffix(" of the step"))

    def _make_share(self, axes) -> None:
        self.shares = axes.stairs([0], [0, 1], fill=True, color=ORANGE, alpha=0.55, lw=0)
        self.outline = axes.stairs([0], [0, 1], color="#9a6700", lw=1)
        (self.dot,) = axes.plot([], [], "o", color=INK, markersize=5)
        axes.set_xscale("log", base=2)
        axes.minorticks_off()
        axes.grid(axis="y", color=FAINT, lw=0.6)
        axes.set_axisbelow(True)

    def _share(self, axes, now: View) -> None:
        share = [100 * ((p or n) - n) / (p or n) for n, p in enumerate(now.pads, 1)]
        edges = [n - 0.5 for n in range(1, now.top + 2)]
        self.shares.set_data(share, edges)
        self.outline.set_data(share, edges)
        at = [] if now.padded is None else [now.batch]
        self.dot.set_data(at, [share[n - 1] for n in at])
        most = max(share)
        axes.set(xlim=(0.9, max(now.top, 2) * 1.05), ylim=(0, max(50, 1.1 * most)))
        axes.set_xticks(ticks := [2**i for i in range(11) if 2**i <= max(now.top, 2)], [str(t) for t in ticks])
        # only the chosen batch's: which batch has the largest is the chapter's question
        chosen = "eager" if now.padded is None else f"{share[now.batch - 1]:.1f}% of the step"
        _title(axes, f"Padding of a batch of {now.batch}: {chosen}")


def _title(axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=9.5, fontweight="bold", color=INK)


def _pads(pad: Callable) -> bool:
    """Whether a `pad_to` is right enough to draw with: between rungs, on one, at the first, above the top."""
    return [pad(n, [1, 2, 8]) for n in (3, 2, 1, 9)] == [8, 2, 1, None]


def _works(ladder: Callable) -> bool:
    return list(ladder(max_num_seqs=4)) == sorted(set(ladder(max_num_seqs=4))) != []


def ladder_explorer(ladder: Callable | None = None, pad: Callable | None = None):
    """Sliders for max_num_seqs, interactivity and a batch size; the ladder, the padding and its means follow.

    Uses the learner's `default_capture_sizes` and `pad_to` once they are written, else the reference's; other
    functions of the same form can be given.
    """
    return Explorer(ladder, pad)


class Explorer:
    """The explorer as the value of a cell. `show(max_num_seqs, interactivity, batch)` sets it from code."""

    def __init__(self, ladder: Callable | None, pad: Callable | None):
        self._given = (ladder, pad)
        self.drawing = Drawing()
        self.box = self._widget()
        self._draw()

    def _functions(self) -> tuple[Callable, Callable, list[str]]:
        """Looked up at every move: a function that was just written is used at once."""
        ladder, pad = self._given
        notes = []
        if ladder is None:
            ladder, note = reference.yours_or_reference("buckets", "default_capture_sizes", _works)
            notes.append(note)
        if pad is None:
            pad, note = reference.yours_or_reference("buckets", "pad_to", _pads)
            notes.append(note)
        return ladder, pad, [n for n in notes if n]

    def _widget(self):
        import ipywidgets as w

        wide, style = w.Layout(width="32rem", max_width="100%"), {"description_width": "8rem"}
        narrow = w.Layout(width="27rem", max_width="100%")  # its track is as long as that of the other slider
        self.servers = w.SelectionSlider(
            options=SERVERS, value=256, description="max_num_seqs", layout=narrow, style=style, readout=False
        )
        # in place of the slider's own readout, which can be typed over
        self.servers_value = w.Label(str(self.servers.value), layout=w.Layout(width="4rem"))
        self.interactivity = w.Checkbox(value=False, description="interactivity: every size up to 32", indent=False)
        self.batch = w.IntSlider(value=20, min=1, max=600, description="batch size", layout=wide, style=style)
        self.image = w.Image(format="png", layout=w.Layout(width="100%", max_width="60rem"))
        self.note, self.text = w.HTML(), w.HTML()
        for control in (self.servers, self.interactivity, self.batch):
            control.observe(lambda _: self._draw(), names="value")
        sliders = w.VBox([w.HBox([self.servers, self.servers_value]), self.batch])
        controls = w.HBox([sliders, self.interactivity], layout=w.Layout(flex_flow="row wrap"))
        return w.VBox([w.HTML(CSS), self.note, controls, self.image, self.text])

    def show(
        self, max_num_seqs: int | None = None, interactivity: bool | None = None, batch: int | None = None
    ) -> None:
        """Sets what is given, as the sliders do. `max_num_seqs` must be one of the slider's values."""
        for control, value in (
            (self.servers, max_num_seqs),
            (self.interactivity, interactivity),
            (self.batch, batch),
        ):
            if value is not None:
                control.value = value

    def _draw(self) -> None:
        ladder, pad, notes = self._functions()
        settings = (self.servers.value, self.interactivity.value, self.batch.value)
        try:
            self.now = view(ladder, pad, *settings)
        except Exception as e:
            notes = [f"Your functions raised {type(e).__name__} ({e}); the picture uses the reference's."]
            buckets = reference.load("buckets")
            self.now = view(buckets.default_capture_sizes, buckets.pad_to, *settings)
        self.servers_value.value = str(self.servers.value)
        self.image.value = self.drawing.draw(self.now)
        said = "".join(f'<p class="kit-warn">{html.escape(note)}</p>' for note in dict.fromkeys(notes))
        self.note.value = f'<div class="kit-box">{said}</div>' if said else ""
        self.text.value = self._html()

    def _html(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{value}</td></tr>" for name, value in self.now.means())
        caption = f"Three means over the batches 1 to {self.now.top}, each once"
        return (
            f'<div class="kit-box"><p>{html.escape(self.now.batch_line())}.</p>'
            f'<table class="kit-means"><caption>{caption}</caption>{rows}</table>'
            f'<p class="kit-soft">{html.escape(self.now.ladder_line())}</p></div>'
        )

    def picture(self) -> Picture:
        """The present picture, to keep or to show without widgets."""
        return Picture(self.drawing.figure, repr(self))

    def __repr__(self) -> str:
        means = "; ".join(f"{name}: {value}" for name, value in self.now.means())
        return f"{self.now.ladder_line()}. {self.now.batch_line()}. Over batches 1 to {self.now.top}: {means}."

    def _repr_mimebundle_(self, **options):
        bundle = self.box._repr_mimebundle_(**options)
        bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**bundle, "text/plain": repr(self)}
