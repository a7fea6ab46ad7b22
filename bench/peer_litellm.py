"""What LiteLLM's own functions take for the bodies of `bodies.py`. Runs in an environment of its own; prints JSON."""

import json
import os
import time
from collections.abc import Callable

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import httpx
from bodies import chat_request, gemini_response
from litellm import ModelResponse
from litellm.litellm_core_utils.litellm_logging import Logging
from litellm.llms.vertex_ai.gemini.transformation import transform_request_body
from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig
from litellm.utils import get_optional_params

MODEL = "gemini-2.5-flash"
BODY = json.dumps(chat_request()).encode()
ANSWER = json.dumps(gemini_response()).encode()
MESSAGES = json.loads(BODY)["messages"]
CONFIG = VertexGeminiConfig()
LOG = Logging(
    model=MODEL,
    messages=MESSAGES,
    stream=False,
    call_type="completion",
    start_time=time.time(),
    litellm_call_id="x",
    function_id="x",
)
LOG.optional_params = {}


def request() -> str:
    body = json.loads(BODY)
    options = get_optional_params(
        model=MODEL,
        custom_llm_provider="gemini",
        tools=body["tools"],
        tool_choice="auto",
        temperature=0.2,
        max_tokens=1024,
    )
    made = transform_request_body(
        messages=body["messages"],
        model=MODEL,
        optional_params=options,
        custom_llm_provider="gemini",
        litellm_params={},
        cached_content=None,
    )
    return json.dumps(made)


def response() -> str:
    sent = httpx.Request("POST", "http://127.0.0.1/")
    raw = httpx.Response(200, content=ANSWER, headers={"content-type": "application/json"}, request=sent)
    reply = CONFIG.transform_response(
        model=MODEL,
        raw_response=raw,
        model_response=ModelResponse(),
        logging_obj=LOG,
        request_data={},
        messages=MESSAGES,
        optional_params={},
        litellm_params={},
        encoding=None,
    )
    return reply.model_dump_json()


def best_us(work: Callable[[], str], rounds: int = 7, calls: int = 100) -> float:
    work()
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time_ns()
        for _ in range(calls):
            work()
        best = min(best, (time.process_time_ns() - started) / calls / 1000)
    return best


print(json.dumps({"request": best_us(request), "response": best_us(response)}))
