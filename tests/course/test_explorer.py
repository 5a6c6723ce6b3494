"""The explorer, the waste plot and the workloads: right numbers, before and after anything is written."""

import pytest

import kit
from kit import plots, reference, workloads
from kit.explorer import Drawing, view

BUCKETS = reference.load("buckets")


def look(max_num_seqs=256, interactivity=False, batch=9):
    return view(BUCKETS.default_capture_sizes, BUCKETS.pad_to, max_num_seqs, interactivity, batch)


def test_the_numbers_are_the_contracts():
    now = look()
    assert [value for _, value in now.means()] == ["5.46", "3.28%", "2.08%"]
    assert [value for _, value in look(interactivity=True).means()] == ["5.28", "2.34%", "2.02%"]
    assert now.ladder_line().startswith("51 sizes: 1 2 4 8 16") and now.ladder_line().endswith("464 480 496 512")
    assert " 96 100 104 " in look(100).ladder_line() and " 96 104 " in look(96).ladder_line()
    assert now.batch_line() == "A batch of 9 runs at 16: 7 padded rows, 43.8% of the step"
    assert look(batch=600).batch_line() == "A batch of 600 is above the top: it runs eager"
    assert look(100, batch=100).batch_line() == "A batch of 100 is a rung: no padding"


@pytest.mark.parametrize("settings", [(1, False, 1), (1, False, 600), (20, True, 38), (1024, True, 512)])
def test_every_state_can_be_drawn(settings):
    picture = Drawing().draw(look(*settings))
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000


def test_the_picture_does_not_answer_the_chapters_question():
    drawing = Drawing()
    for batch, said in ((100, "100: 3.8% of the step"), (96, "96: 0.0% of the step"), (600, "600: eager")):
        drawing.draw(look(batch=batch))
        assert drawing.axes["share"].get_title(loc="left") == f"Padding of a batch of {said}"
    explorer = kit.ladder_explorer(BUCKETS.default_capture_sizes, BUCKETS.pad_to)
    share = [(p - n) / p for n, p in enumerate(explorer.now.pads, 1)]
    assert share[explorer.batch.value - 1] < max(share)  # nor does the batch that is shown first


def test_the_sliders_value_stands_beside_it_where_nobody_can_type(ws):
    explorer = kit.ladder_explorer()
    assert not explorer.servers.readout and explorer.servers_value.value == "256"
    explorer.show(max_num_seqs=100)
    assert explorer.servers_value.value == "100"


def test_it_works_before_anything_is_written_and_says_whose_functions_it_uses(ws):
    explorer = kit.ladder_explorer()
    assert "default_capture_sizes is not written yet" in explorer.note.value
    assert explorer.note.value.count("The picture uses the reference") == 2
    before = explorer.image.value
    explorer.show(batch=100)
    assert explorer.image.value != before and "A batch of 100 runs at 104" in repr(explorer)


def test_it_uses_the_learners_functions_from_the_move_after_they_are_written(ws, monkeypatch):
    import mini_llm.buckets as mine

    assert str(ws) in mine.__file__
    explorer = kit.ladder_explorer()
    monkeypatch.setattr(mine, "default_capture_sizes", lambda max_num_seqs, interactivity=False: [2, 4, 8])
    monkeypatch.setattr(mine, "pad_to", BUCKETS.pad_to)
    explorer.show(batch=7)
    assert "3 sizes: 2 4 8" in repr(explorer) and not explorer.note.value

    def broken(max_num_seqs, interactivity=False):
        if max_num_seqs == 4:
            return [1, 2]
        raise KeyError("x")

    monkeypatch.setattr(mine, "default_capture_sizes", broken)
    explorer.show(batch=8)
    assert "Your functions raised KeyError" in explorer.note.value and "51 sizes" in repr(explorer)
    monkeypatch.setattr(mine, "default_capture_sizes", lambda max_num_seqs, interactivity=False: [4, 2])
    explorer.show(batch=9)
    assert "something else than it should" in explorer.note.value


def test_functions_of_the_same_form_can_be_given():
    explorer = kit.ladder_explorer(lambda max_num_seqs, interactivity: [1, 8], lambda n, sizes: 8 if n <= 8 else None)
    assert "2 sizes: 1 8" in repr(explorer) and not explorer.note.value
    assert "text/plain" in explorer._repr_mimebundle_()


def test_the_reference_is_not_the_learners_package(ws):
    import mini_llm.buckets as mine

    assert reference.load("buckets") is not mine and reference.load("buckets").pad_to(3, [4]) == 4
    with pytest.raises(NotImplementedError):
        mine.pad_to(3, [4])


def test_waste_plot_counts_and_compares():
    dist = {1: 10, 2: 5, 3: 30, 7: 25, 8: 5, 9: 25}
    one = kit.waste_plot(dist, [4, 8])
    assert one.png().startswith(b"\x89PNG") and len(one.figure.axes) == 2
    assert "100 decode steps" in repr(one) and "ladder A, 2 sizes: 0.95 padded rows per step" in repr(one)
    assert "25.0% of steps eager" in repr(one)
    two = kit.waste_plot(dist, [4, 8], [3, 7, 9], labels=("default", "best"))
    assert len(two.figure.axes) == 3 and "best, 3 sizes" in repr(two)
    bars = [p.get_height() for p in one.figure.axes[1].patches if p.get_facecolor()[:3] == plots_orange()]
    assert sum(bars) == 95
    data, about = two._repr_mimebundle_()
    assert data["text/plain"] == repr(two) and about["image/png"]["width"] > 400
    with pytest.raises(ValueError, match="no steps"):
        kit.waste_plot({3: 0}, [4])


def plots_orange():
    from matplotlib.colors import to_rgb

    return to_rgb(plots.ORANGE)


@pytest.mark.parametrize("make", [workloads.chat, workloads.agents, workloads.offline])
def test_workloads_are_seeded_counts_up_to_the_cap(make):
    dist = make(max_num_seqs=32, seed=5)
    assert dist == make(max_num_seqs=32, seed=5) != make(max_num_seqs=32, seed=6)
    assert list(dist) == sorted(dist) and 1 <= min(dist) and max(dist) <= 32
    assert all(type(b) is int and type(n) is int and n > 0 for b, n in dist.items()) and sum(dist.values()) > 5000


def test_a_simulated_server_by_hand():
    server = workloads.Server(max_num_seqs=2, weights_ms=1000, row_ms=0, prompt_token_ms=0)
    asked = [
        workloads.Request(0, 1, 3),
        workloads.Request(0, 1, 1),
        workloads.Request(0, 1, 2),
        workloads.Request(9, 1, 1),
    ]
    # two run, the second ends after one step and the third takes its place; then silence, then the last
    assert workloads.batch_sizes(asked, server) == {1: 1, 2: 3}
    assert workloads.batch_sizes([]) == {}
