"""Asks a router as programs in Python do, and prints what came of it as one JSON object."""

import json
import os

import openai


def client(key: str = os.environ["KEY"], **more: object) -> openai.OpenAI:
    return openai.OpenAI(base_url=os.environ["BASE_URL"], api_key=key, max_retries=0, **more)


def ask(one: openai.OpenAI, model: str = "tiny", content: str = "Hello", **more: object):
    messages = [{"role": "user", "content": content}]
    return one.chat.completions.create(model=model, messages=messages, **{"max_tokens": 6, **more})


def failure(call) -> Exception:
    try:
        call()
    except openai.APIError as error:
        return error
    return Exception("no failure")


stream = list(ask(client(), stream=True, stream_options={"include_usage": True}))
failures = [
    failure(lambda: ask(client("sk-llmgw-made-up"))),
    failure(lambda: ask(client(os.environ["NARROW_KEY"]))),
    failure(lambda: ask(client(), model="nope")),
    failure(lambda: ask(client(), content="hello " * 8000)),
    failure(lambda: ask(client(), model="away")),
]
endless = {"max_tokens": 1_000_000, "extra_body": {"ignore_eos": True}}
print(
    json.dumps(
        {
            "chat": ask(client()).choices[0].message.role,
            "stream": {"chunks": len(stream) > 2, "usage": stream[-1].usage.completion_tokens},
            "failures": [type(error).__name__ for error in failures],
            "codes": [getattr(error, "code", None) for error in failures],
            "timeout": type(failure(lambda: ask(client(timeout=0.3), **endless))).__name__,
        }
    )
)
