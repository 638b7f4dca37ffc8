"""OpenAI's Python package against a server: python openai_package.py URL KEY

The server has the models `plays`, which converses, and `bert`, an encoder.
"""

import json
import sys

import openai


def main(url, key):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
    names = [model.id for model in client.models.list()]
    assert names == ["plays", "bert"], names
    assert client.models.retrieve("bert").id == "bert"

    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Speak."}]
    asked = dict(model="plays", messages=turns, temperature=0, max_completion_tokens=24)
    chat = client.chat.completions.create(**asked, logprobs=True, top_logprobs=2)
    text = chat.choices[0].message.content
    assert text and chat.choices[0].finish_reason == "length", chat
    assert chat.usage.completion_tokens == 24 and chat.usage.prompt_tokens_details.cached_tokens == 0, chat.usage
    tokens = chat.choices[0].logprobs.content
    assert "".join(token.token for token in tokens) == text and len(tokens[0].top_logprobs) == 2

    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    parts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(part or "" for part in parts) == text and len(parts) > 10, parts
    assert chunks[-1].usage.completion_tokens == 24

    several = client.chat.completions.create(**{**asked, "temperature": 1}, n=3, seed=1)
    assert len({choice.message.content for choice in several.choices}) == 3

    completion = client.completions.create(model="plays", prompt=["ROMEO:", "O, "], max_tokens=8, temperature=0)
    assert [choice.index for choice in completion.choices] == [0, 1] and completion.choices[0].text

    # The package asks for base64 unless it is told otherwise.
    embedded = client.embeddings.create(model="bert", input=["a b", "c"])
    again = client.embeddings.create(model="bert", input=["a b", "c"], encoding_format="float")
    for one, other in zip(embedded.data, again.data):
        assert len(one.embedding) == 64
        assert max(abs(a - b) for a, b in zip(one.embedding, other.embedding)) < 1e-6

    expect(openai.BadRequestError, lambda: client.chat.completions.create(**asked, top_p=2), "top_p")
    expect(openai.NotFoundError, lambda: client.chat.completions.create(**{**asked, "model": "none"}), "not served")
    other = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
    expect(openai.AuthenticationError, lambda: other.models.list(), "key")

    # A stream that its reader leaves.
    with client.chat.completions.create(**{**asked, "max_completion_tokens": 100}, stream=True) as stream:
        next(iter(stream))
    print(json.dumps({"openai": openai.__version__, "text": text}))


def expect(kind, call, words):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{kind.__name__} was expected")


main(*sys.argv[1:])
