"""Text to tokens and back, from the files beside a checkpoint.

Uses `tokenizers` and jinja2 alone: importing transformers for this would take longer than the first answer.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path


class Tokenizer:
    """The tokenizer in a model's folder, with the chat template and the end tokens that belong to it."""

    def __init__(self, folder):
        from tokenizers import Tokenizer as Backend

        folder = Path(folder)
        if not (folder / "tokenizer.json").is_file():
            raise ValueError(f"{folder} holds no tokenizer.json")
        self._backend = Backend.from_file(str(folder / "tokenizer.json"))
        self._settings = _read(folder / "tokenizer_config.json")
        self.chat_template = _chat_template(folder, self._settings)
        # generation_config.json is the more specific of the two; either may hold one id or several
        eos = (_read(folder / "config.json") | _read(folder / "generation_config.json")).get("eos_token_id")
        self.eos_token_ids = [eos] if isinstance(eos, int) else list(eos or ())

    def encode(self, text: str) -> list[int]:
        """Token ids of `text` as it stands."""
        return self._backend.encode(text).ids

    def encode_chat(self, question: str) -> list[int]:
        """Token ids of `question` as the user's turn, up to where the answer begins."""
        from jinja2.ext import loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        # the settings that transformers renders templates with, which their authors count on
        jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        jinja.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False, **options)
        jinja.globals["raise_exception"] = _refuse
        jinja.globals["strftime_now"] = lambda format: datetime.now().strftime(format)
        special = {name: self._special(name) for name in ("bos_token", "eos_token")}
        prompt = jinja.from_string(self.chat_template).render(
            messages=[{"role": "user", "content": question}], add_generation_prompt=True, **special
        )
        return self._backend.encode(prompt, add_special_tokens=False).ids  # the template wrote them

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`, without special tokens."""
        return self._backend.decode(list(ids), skip_special_tokens=True)

    def pieces(self, ids: Iterable[int]) -> Iterator[str]:
        """Text as the tokens arrive. A piece waits while its last character is only half there."""
        seen, shown = [], 0
        for token in ids:
            seen.append(token)
            text = self.decode(seen)
            if not text.endswith("\ufffd") and len(text) > shown:
                yield text[shown:]
                shown = len(text)
        if rest := self.decode(seen)[shown:]:
            yield rest

    def _special(self, name: str) -> str:
        token = self._settings.get(name) or ""
        return token["content"] if isinstance(token, dict) else token


def _read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _chat_template(folder: Path, settings: dict) -> str | None:
    """In a file of its own since transformers 5, among the tokenizer's settings before."""
    if (folder / "chat_template.jinja").is_file():
        return (folder / "chat_template.jinja").read_text(encoding="utf-8")
    template = settings.get("chat_template")
    if isinstance(template, list):  # several, by name
        template = {each["name"]: each["template"] for each in template}.get("default")
    return template


def _refuse(message: str):
    raise ValueError(f"the chat template refuses this conversation: {message}")
