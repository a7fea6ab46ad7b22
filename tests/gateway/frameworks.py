"""Agent frameworks as clients of the gateway: each has the conversation, and gives back what it was told.

A framework is imported where it is used, because `make setup` does not install all of them.
"""

import contextlib

QUESTION, THANKS = "How is the weather?", "Thanks."


class Heard:
    """What came of a conversation: the cities that the tool was asked for, and the last word of each turn."""

    def __init__(self):
        self.cities = []
        self.texts = []

    def get_weather(self, city: str) -> str:
        """Look at the sky over a city."""
        self.cities.append(city)
        return "sunny"


async def pydantic_ai(running, dialect, *, stream):
    from pydantic_ai import Agent

    heard = Heard()

    async def listen(_context, events):
        async for _ in events:
            pass

    agent = Agent(_pydantic_model(running, dialect), tools=[heard.get_weather])
    options = {"event_stream_handler": listen} if stream else {}
    history = []
    async with agent:
        for said in (QUESTION, THANKS):
            result = await agent.run(said, message_history=history, **options)
            history = result.all_messages()
            heard.texts.append(result.output)
    return heard


def _pydantic_model(running, dialect):
    if dialect == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
        from pydantic_ai.providers.anthropic import AnthropicProvider

        thinking = {"type": "enabled", "budget_tokens": 2048}
        settings = AnthropicModelSettings(anthropic_thinking=thinking, max_tokens=4096)
        provider = AnthropicProvider(base_url=running.anthropic_url, api_key="k")
        return AnthropicModel(running.model, provider=provider, settings=settings)
    if dialect == "gemini":
        from pydantic_ai.models.google import GoogleModel, GoogleModelSettings
        from pydantic_ai.providers.google import GoogleProvider

        settings = GoogleModelSettings(google_thinking_config={"thinking_level": "LOW"})
        provider = GoogleProvider(base_url=running.gemini_url, api_key="k")
        return GoogleModel(running.model, provider=provider, settings=settings)
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIChatModel if dialect == "openai-chat" else OpenAIResponsesModel
    settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low")
    return kind(running.model, provider=OpenAIProvider(base_url=running.openai_url, api_key="k"), settings=settings)


async def langchain(running, dialect, *, stream):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    heard = Heard()
    weather = tool(heard.get_weather)
    async with _langchain_model(running, dialect) as bare:
        model = bare.bind_tools([weather])
        messages = []
        for said in (QUESTION, THANKS):
            messages.append(HumanMessage(said))
            while True:
                answer = await _joined(model.astream(messages)) if stream else await model.ainvoke(messages)
                messages.append(answer)
                if not answer.tool_calls:
                    break
                results = [(weather.invoke(call["args"]), call["id"]) for call in answer.tool_calls]
                messages.extend(ToolMessage(result, tool_call_id=call_id) for result, call_id in results)
            heard.texts.append(answer.text)
    return heard


async def _joined(chunks):
    whole = None
    async for chunk in chunks:
        whole = chunk if whole is None else whole + chunk
    return whole


@contextlib.asynccontextmanager
async def _langchain_model(running, dialect):
    """The framework leaves its connections to the garbage collector; here they are closed."""
    if dialect == "anthropic":
        from langchain_anthropic import ChatAnthropic

        thinking = {"type": "enabled", "budget_tokens": 2048}
        model = ChatAnthropic(
            model=running.model, base_url=running.anthropic_url, api_key="k", max_tokens=4096, thinking=thinking
        )
        yield model
        await model._async_client.close()
    elif dialect == "gemini":
        from langchain_google_genai import ChatGoogleGenerativeAI

        model = ChatGoogleGenerativeAI(
            model=running.model, base_url=running.gemini_url, google_api_key="k", include_thoughts=True
        )
        yield model
        await model.client.aio.aclose()
        model.client.close()
    else:
        from langchain_openai import ChatOpenAI

        is_responses = dialect == "openai-responses"
        effort = {"reasoning": {"effort": "low"}} if is_responses else {"reasoning_effort": "low"}
        model = ChatOpenAI(
            model=running.model, base_url=running.openai_url, api_key="k", use_responses_api=is_responses, **effort
        )
        yield model
        await model.root_async_client.close()


async def openai_agents(running, dialect, *, stream):
    import openai
    from agents import (
        Agent,
        ModelSettings,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        RunConfig,
        Runner,
        function_tool,
    )

    heard = Heard()
    kind = OpenAIChatCompletionsModel if dialect == "openai-chat" else OpenAIResponsesModel
    settings = ModelSettings(reasoning={"effort": "low"})
    history = []
    async with openai.AsyncOpenAI(base_url=running.openai_url, api_key="k") as client:
        agent = Agent(
            name="weather",
            model=kind(running.model, client),
            model_settings=settings,
            tools=[function_tool(heard.get_weather)],
        )
        for said in (QUESTION, THANKS):
            asked = [*history, {"role": "user", "content": said}]
            config = RunConfig(tracing_disabled=True)
            if stream:
                result = Runner.run_streamed(agent, asked, run_config=config)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, asked, run_config=config)
            history = result.to_input_list()
            heard.texts.append(result.final_output)
    return heard
