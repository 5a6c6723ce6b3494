"""Plots of a chapter: drawn without pyplot, shown as one sharp picture, with a text beside it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from kit import reference

# Okabe and Ito's colours, told apart with any colour vision; lightness differs too, for print.
BLUE, ORANGE, GREEN, INK, SOFT, FAINT = "#0072B2", "#E69F00", "#007A5A", "#24292f", "#6b7280", "#d7dbe0"
DPI = 150


class Picture:
    """A figure as the value of a cell. `figure` is matplotlib's; `text` says what it shows."""

    def __init__(self, figure: Figure, text: str):
        self.figure, self.text = figure, text

    def __repr__(self) -> str:
        return self.text

    def png(self) -> bytes:
        """The picture's bytes."""
        return png(self.figure)

    def _repr_mimebundle_(self, **options):
        width = round(self.figure.get_figwidth() * 96)
        return {"image/png": self.png(), "text/plain": self.text}, {"image/png": {"width": width}}


def new_figure(width: float, height: float, **margins: float) -> Figure:
    """A figure with the course's look, free of pyplot's global state; fixed margins are drawn much faster."""
    figure = Figure(
        figsize=(width, height), dpi=DPI, facecolor="white", layout=None if margins else "constrained"
    )
    if margins:
        figure.subplots_adjust(**margins)
    FigureCanvasAgg(figure)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as PNG."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI, pil_kwargs={"compress_level": 1})
    return out.getvalue()


def dress(axes, title: str, x: str = "", y: str = "") -> None:
    """Title at the left, named axes, no box around."""
    axes.set_title(title, loc="left", fontsize=10, color=INK, fontweight="bold", pad=6)
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=8.5, colors=SOFT, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(FAINT)


def thousands(axis) -> None:
    """Ticks such as 20,000."""
    axis.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))


def waste_plot(
    dist: Mapping[int, int],
    sizes: Sequence[int],
    other: Sequence[int] | None = None,
    labels: Iterable[str] = ("ladder A", "ladder B"),
) -> Picture:
    """What padding to `sizes` wastes on the steps of `dist`, and, below, on those padded to `other`.

    `dist` maps a batch size to the number of decode steps that had it. In each ladder's panel a grey line is
    a captured size, and an orange bar is the number of padded rows of all steps with that batch size; the
    panels share their scale. A batch above the top runs eager and pads nothing; the title counts such steps.
    Raises ValueError for a `dist` without steps.
    """
    steps = sum(dist.values())
    if not steps:
        raise ValueError("dist holds no steps, so there is nothing to draw.")
    ladders = [(name, list(s)) for name, s in zip(labels, (sizes, other), strict=False) if s is not None]
    figure = new_figure(8.6, 2.1 + 1.75 * len(ladders))
    ratios = [1.1] + [1] * len(ladders)
    top_axes, *panels = figure.subplots(1 + len(ladders), 1, sharex=True, height_ratios=ratios)
    batches = sorted(b for b, count in dist.items() if count)
    top_axes.bar(batches, [dist[b] for b in batches], width=0.9, color=BLUE)
    said = [f"{steps:,} decode steps; half of them have at most {_median(dist)} requests"]
    dress(top_axes, said[0], y="steps")
    thousands(top_axes.yaxis)
    top_axes.set_ylim(bottom=0)
    highest = 0.0
    for axes, (name, ladder) in zip(panels, ladders, strict=True):
        waste, sentence = _waste(dist, ladder)
        highest = max(highest, *waste.values(), 1)
        edge = max(batches) * 1.02 + 1
        if (top := max(ladder, default=0)) < max(batches):
            axes.axvspan(top + 0.5, edge, color="#f1f2f4", zorder=0)
            spot = {"transform": axes.get_xaxis_transform(), "ha": "right", "va": "top"}
            axes.text(edge, 0.9, "eager: no graph ", fontsize=8.5, color=SOFT, **spot)
        span = [s for s in ladder if s <= max(batches) * 1.06 + 8]
        axes.vlines(span, 0, 1, transform=axes.get_xaxis_transform(), color=FAINT, lw=1.1, zorder=1)
        axes.bar(list(waste), list(waste.values()), width=0.9, color=ORANGE, zorder=2)
        dress(axes, f"{name}, {len(ladder)} sizes: {sentence}", y="padded rows")
        thousands(axes.yaxis)
        said.append(f"{name}, {len(ladder)} sizes: {sentence}")
    for axes in panels:
        axes.set_ylim(0, 1.12 * highest)
    x = "batch size (requests in a decode step); grey lines: captured sizes"
    panels[-1].set_xlabel(x, fontsize=9, color=INK)
    panels[-1].set_xlim(0, edge)
    panels[-1].xaxis.set_major_locator(MaxNLocator(10, integer=True))
    return Picture(figure, ". ".join(said) + ".")


def _waste(dist: Mapping[int, int], ladder: list[int]) -> tuple[dict[int, int], str]:
    """Padded rows by batch size, and the ladder's means in a sentence."""
    buckets = reference.load("buckets")
    waste = {b: count * ((buckets.pad_to(b, ladder) or b) - b) for b, count in dist.items()}
    stats = buckets.padding_stats(dist, ladder)
    sentence = f"{stats.rows_per_step:.2f} padded rows per step, {stats.share_of_rows:.1%} of all rows"
    eager = sum(count for b, count in dist.items() if b > max(ladder, default=0))
    if eager:
        sentence += f"; {eager / sum(dist.values()):.1%} of steps eager"
    return waste, sentence


def _median(dist: Mapping[int, int]) -> int:
    half, seen = sum(dist.values()) / 2, 0
    for batch in sorted(dist):
        seen += dist[batch]
        if seen >= half:
            return batch
    raise ValueError("no steps")  # pragma: no cover
