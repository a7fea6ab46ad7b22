"""A conversation with the gateway, turn by turn, and what to try next: `sample_conversation.py URL PID COMMANDS`.

COMMANDS is the folder of the groundwire command, as seen from the folder above.

Plain HTTP on purpose: what it sends is all that a client has to send.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any

START_LIMIT = 60
MODELS = {
    "OPENAI_API_KEY": "openai/gpt-5.2",
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-4-6",
    "GEMINI_API_KEY": "gemini/gemini-3-flash-preview",
    "GOOGLE_API_KEY": "gemini/gemini-3-flash-preview",
}
QUESTIONS = ("What is the weather in Tokyo?", "And what is the weather in Rome?")


def main() -> None:
    url, gateway, commands = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    model = next((name for key, name in MODELS.items() if os.environ.get(key)), "sim")
    _wait(url, gateway)
    print(f"\nA conversation with {model}, which may use the tool get_weather of this server:\n")
    earlier: dict[str, Any] = {}
    for question in QUESTIONS:
        tools = [{"type": "groundwire", "name": "get_weather"}]
        earlier = _post(f"{url}/v1/responses", {"model": model, "input": question, "tools": tools, **earlier})
        print(f"  you        {question}\n  {model:<10} {_text(earlier)}")
        earlier = {"previous_response_id": earlier["id"]}
    print(
        f"""
Try it, in another terminal:

  curl {url}/v1/chat/completions -d '{{"model": "{model}", "messages": [{{"role": "user", "content": "Hello"}}]}}'

  {commands}/python -c 'from openai import OpenAI; print(OpenAI(base_url="{url}/v1", api_key="any").responses.create(model="{model}", input="Hello").output_text)'

  cd demo && ../{commands}/groundwire chat {model} -m "What is the weather in Oslo?"

{url}/openapi.json lists everything that is served; docs/guides/gateway.md says how to use it. Ctrl-C stops it.""",
        flush=True,
    )


def _wait(url: str, gateway: int) -> None:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        try:
            os.kill(gateway, 0)
            with urllib.request.urlopen(f"{url}/health/live", timeout=5):  # noqa: S310 - ours
                return
        except ProcessLookupError:
            break
        except OSError:
            time.sleep(0.1)
    sys.exit("The gateway did not start.")


def _post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - ours
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    if key := os.environ.get("GROUNDWIRE_MASTER_KEY"):
        request.add_header("authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - ours
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        sys.exit(f"The gateway answered {error.code}: {error.read().decode()}")


def _text(response: dict[str, Any]) -> str:
    messages = [item for item in response["output"] if item["type"] == "message"]
    return " ".join(part["text"] for message in messages for part in message["content"])


main()
