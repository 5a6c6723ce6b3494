"""Tokens to text and back, piece by piece."""

import json
import shutil

import pytest

from mini_llm.text import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(tiny_model):
    return Tokenizer(tiny_model)


def test_text_survives_the_way_there_and_back(tokenizer):
    for text in ("What is the capital of France?", "naïve, 批大小, 🙂", " two  spaces ", "a , b"):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_are_not_shown(tokenizer):
    assert tokenizer.decode([256, *tokenizer.encode("yes"), 257]) == "yes"


def test_the_end_tokens_are_those_of_the_generation_config(tokenizer):
    assert tokenizer.eos_token_ids == [257, 256]


def test_pieces_never_show_half_a_character(tokenizer):
    text = "é, 批 and 🙂 end"
    pieces = list(tokenizer.pieces(iter(tokenizer.encode(text))))
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)
    assert pieces[0] == "é" and len(pieces) == len(text)


def test_bytes_that_never_become_a_character_come_at_the_end(tokenizer):
    ids = tokenizer.encode("a🙂")[:-1]
    assert "".join(tokenizer.pieces(ids)) == tokenizer.decode(ids)


def test_pieces_come_as_soon_as_their_token(tokenizer):
    asked = []

    def tokens():
        for token in tokenizer.encode("abc"):
            asked.append(token)
            yield token

    pieces = tokenizer.pieces(tokens())
    assert next(pieces) == "a" and len(asked) == 1


def test_a_question_is_wrapped_as_transformers_wraps_it(tokenizer, tiny_model):
    ids = tokenizer.encode_chat("Why?")
    newline, answer = tokenizer.encode("\n"), tokenizer.encode("assistant:")
    assert ids == [256, *tokenizer.encode("user:Why?"), 257, *newline, 256, *answer]
    peer = pytest.importorskip("transformers").PreTrainedTokenizerFast.from_pretrained(tiny_model)
    chat = [{"role": "user", "content": "Why?"}]
    assert ids == peer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]


def test_a_chat_begins_once_also_where_the_tokenizer_adds_a_begin_token(tiny_model, tmp_path):
    from tokenizers import Tokenizer as Backend
    from tokenizers.processors import TemplateProcessing

    folder = shutil.copytree(tiny_model, tmp_path / "model")
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    backend.save(str(folder / "tokenizer.json"))
    assert Tokenizer(folder).encode("a")[0] == 256, "text as it stands gets one"
    assert Tokenizer(folder).encode_chat("a")[:2] != [256, 256], "the template has already written it"


def test_a_template_in_its_own_file_comes_first(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content | tojson }}")
    assert Tokenizer(folder).encode_chat("é") == Tokenizer(folder).encode('"é"')
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no system turn') }}")
    with pytest.raises(ValueError, match="no system turn"):
        Tokenizer(folder).encode_chat("x")


def test_no_template_and_no_tokenizer(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    (folder / "tokenizer_config.json").write_text(json.dumps({}))
    assert Tokenizer(folder).chat_template is None
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"no tokenizer\.json"):
        Tokenizer(folder)
