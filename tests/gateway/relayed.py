"""What tests of the relay share: a session from both of its sides."""

import asyncio
import contextlib

import httpx2
from google import genai
from google.genai import types

from groundwire.testing import Answer, Ask

LIMIT = 30
PLACEHOLDER = "Tool call completed"
DECLARATION = {
    "name": "get_weather",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]},
}
TOOLS = [{"functionDeclarations": [DECLARATION]}]
FLAT = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
TOKYO, OSLO = Ask("get_weather", {"city": "Tokyo"}), Ask("get_weather", {"city": "Oslo"})
SCRIPT = (Answer(calls=(TOKYO,)), Answer("It is sunny."), Answer("You are welcome."))


class Session:
    """A session from both sides: the owner's, and the client's that knows of no tools."""

    def __init__(self, running, name, http):
        self.url = f"{running.url}/relay/{name}"
        self._http = http
        options = types.HttpOptions(base_url=self.url)
        self.client = genai.Client(api_key="k", http_options=options)
        self.chat = self.client.aio.chats.create(model=running.model)

    async def say(self, text, *, stream=False):
        if not stream:
            return (await self.chat.send_message(text)).text
        return "".join([chunk.text or "" async for chunk in await self.chat.send_message_stream(text)])

    async def offer(self, **body):
        response = await self._http.put(f"{self.url}/tools", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    async def calls(self):
        return (await self._http.get(f"{self.url}/calls")).json()["calls"]

    async def post(self, body):
        return await self._http.post(f"{self.url}/results", json=body)

    async def answer(self, **responses):
        """A result for every call that waits, by city."""
        made = [{"id": call["id"], "response": responses[call["args"]["city"]]} for call in await self.calls()]
        response = await self.post({"results": made})
        assert response.status_code == 200, response.text


@contextlib.asynccontextmanager
async def session_of(running, name="desk"):
    async with httpx2.AsyncClient(timeout=LIMIT) as http, asyncio.timeout(LIMIT):
        session = Session(running, name, http)
        try:
            yield session
        finally:
            await session.client.aio.aclose()
            session.client.close()


def texts_of(body):
    return [part.get("text") for content in body["contents"] for part in content["parts"]]
