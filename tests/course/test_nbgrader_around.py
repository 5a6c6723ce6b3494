"""Around the grading: Formgrader, and a notebook that went to a student and came back over nbgrader's exchange."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from classroom import CHAPTER, Classroom, answer, solutions

from grader import layers
from grader.workspace import ensure_package

no_strong_layer = layers.bubblewrap_reason() and layers.landlock_reason()
pytestmark = pytest.mark.skipif(bool(no_strong_layer), reason=f"no class is graded here: {no_strong_layer}")
slow = pytest.mark.skipif(os.environ.get("SLOW") != "1", reason="a dozen nbgrader commands; run with SLOW=1")


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A class of one, who solved one part; nothing graded yet."""
    made = Classroom(tmp_path_factory.mktemp("class")).move_in()
    made.nbgrader("generate_assignment", CHAPTER)
    work = answer(made.released, "pad_to", solutions()["pad_to"])
    work["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "<script>alert(7)</script>", "id": "x"})
    made.hand_in("ada", work)
    return made


@pytest.fixture(scope="module")
def formgrader(room):
    """Asks a Jupyter server that was started in the course's folder: formgrader(path, method) -> text."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--ServerApp.port={port}",
               "--ServerApp.port_retries=0", "--IdentityProvider.token=secret"]  # fmt: skip
    log = open(room.folder / "server.log", "wb")
    server = subprocess.Popen(command, cwd=room.course, stdout=log, stderr=log, env=room.environment())

    def ask(path: str, method: str = "GET") -> str:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", method=method)
        request.add_header("Authorization", "token secret")
        with urllib.request.urlopen(request, timeout=60) as answered:
            return answered.read().decode()

    deadline = time.monotonic() + 180
    try:
        while True:
            try:
                ask("api/status")
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None and time.monotonic() < deadline, (room.folder / "server.log").read_text()
                time.sleep(0.2)
        yield ask
    finally:
        server.terminate()
        server.wait()
        log.close()


def test_formgrader_opens_grades_and_shows_a_submission(room, formgrader):
    assert "nbgrader formgrade" in formgrader("formgrader/manage_assignments")
    (assignment,) = json.loads(formgrader("formgrader/api/assignments"))
    assert (assignment["name"], assignment["max_score"]) == (CHAPTER, 18)

    done = json.loads(formgrader(f"formgrader/api/submission/{CHAPTER}/ada/autograde", "POST"))
    assert done["success"], done
    assert room.grades("ada")["judge-133-pad_to"] == (2, 2, False)
    (notebook,) = json.loads(formgrader(f"formgrader/api/submitted_notebooks/{CHAPTER}/{CHAPTER}"))
    page = formgrader(f"formgrader/submissions/{notebook['id']}/")
    assert "pad_to: 2 of 2 points, 4 of 4 tests passed" in page
    assert "<script>alert(7)" not in page and "alert(7)" in page


@slow
@pytest.mark.slow
def test_over_the_exchange_and_back(room, tmp_path):
    room.nbgrader("release_assignment", CHAPTER)
    home, ws = tmp_path / "home" / "anywhere", tmp_path / "workspace"
    home.mkdir(parents=True)
    (home / "nbgrader_config.py").write_text(
        f"c = get_config()\nc.Exchange.root = {str(room.course / 'exchange')!r}\n"
        f"c.Exchange.cache = {str(tmp_path / 'cache')!r}\nc.CourseDirectory.course_id = 'mini_llm'\n"
    )
    room.nbgrader("fetch_assignment", CHAPTER, cwd=home)
    fetched = home / CHAPTER / f"{CHAPTER}.ipynb"
    notebook = json.loads(fetched.read_text(encoding="utf-8"))
    first = "".join(next(c for c in notebook["cells"] if c["cell_type"] == "code")["source"])

    def run_first_cell() -> str:
        env = room.environment() | {"MINI_LLM_COURSE": str(room.folder), "MINI_LLM_WORKSPACE": str(ws)}
        ran = subprocess.run([sys.executable, "-c", first], cwd=fetched.parent, env=env, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert f"run `make learn` in {room.folder}," in " ".join(run_first_cell().split())  # folded at the width
    ensure_package(ws)
    assert run_first_cell().startswith(f"mini_llm: yours, in {ws}/mini_llm\n")

    fetched.write_text(json.dumps(answer(notebook, "pad_to", solutions()["pad_to"])), encoding="utf-8")
    room.nbgrader("submit", CHAPTER, cwd=home)
    room.nbgrader("collect", CHAPTER)
    (student,) = {p.name for p in (room.course / "submitted").iterdir()} - {"ada"}
    room.nbgrader("autograde", CHAPTER, f"--student={student}")
    assert room.grades(student)["judge-133-pad_to"] == (2, 2, False)
    room.nbgrader("generate_feedback", CHAPTER, f"--student={student}")
    room.nbgrader("release_feedback", CHAPTER, f"--student={student}")
    room.nbgrader("fetch_feedback", CHAPTER, cwd=home)
    (page,) = home.rglob("*.html")
    assert "pad_to: 2 of 2 points" in page.read_text(encoding="utf-8")
