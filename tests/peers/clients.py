"""Real client libraries (openai, ollama, mcp) against the real binary."""

import asyncio
import importlib.util

from house import House, check, finish, skip

ON, OFF, UNLOCK = "turn on the kitchen light", "turn off the kitchen light", "unlock the front door"


def user(text):
    return [{"role": "user", "content": text}]


def deny_all(house):
    for approval in house.approvals():
        house.decide(approval, "deny")


def with_openai(house):
    import openai

    client = openai.OpenAI(base_url=f"{house.url}/v1", api_key=house.token, max_retries=0)
    check("openai: the models are listed", [model.id for model in client.models.list()] == ["homeloop"])
    answer = client.chat.completions.create(model="homeloop", messages=user(ON))
    text = answer.choices[0].message.content
    check("openai: a command is carried out", house.value("light.kitchen") == "on" and "itchen light" in text, answer)
    check("openai: it ends as an answer", answer.choices[0].finish_reason == "stop" and answer.usage is not None, answer)

    chunks = list(client.chat.completions.create(
        model="homeloop", messages=user(OFF), stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check("openai: a streamed command is carried out", house.value("light.kitchen") == "off" and "itchen light" in text, text)
    check("openai: the stream ends with its reason and its usage",
          [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop" and chunks[-1].usage is not None, chunks)

    tools = [{"type": "function", "function": {"name": "unlock_everything", "parameters": {"type": "object"}}}]
    raw = client.chat.completions.with_raw_response.create(model="homeloop", messages=user("is the front door locked?"), tools=tools)
    answer = raw.parse().choices[0].message
    check("openai: tools of the caller are ignored, and that is said",
          not answer.tool_calls and "tools" in raw.headers.get("x-homeloop-notice", ""), (dict(raw.headers), answer))

    talk = user(ON) + [{"role": "assistant", "content": "Done."}] + user("turn it off")
    client.chat.completions.create(model="homeloop", messages=user(ON))
    client.chat.completions.create(model="homeloop", messages=talk)
    check("openai: \"it\" is what the conversation was about", house.value("light.kitchen") == "off")

    before = house.count()
    answer = client.chat.completions.create(model="homeloop", messages=user(UNLOCK)).choices[0].message.content
    waiting = house.approvals()
    check("openai: an unlock waits for a person", len(waiting) == 1 and waiting[0]["match_code"] in answer, answer)
    client.chat.completions.create(model="homeloop", messages=user(UNLOCK) + [{"role": "assistant", "content": answer}] + user("yes"))
    check("openai: a yes decides nothing", not house.commands(before), house.commands(before))
    deny_all(house)
    wrong = openai.OpenAI(base_url=f"{house.url}/v1", api_key="wrong", max_retries=0)
    try:
        wrong.models.list()
        check("openai: a wrong token is refused", False)
    except openai.AuthenticationError as error:
        check("openai: a wrong token is refused", error.status_code == 401)
    try:
        client.chat.completions.create(model="gpt-5", messages=user(ON))
        check("openai: another model is refused", False)
    except openai.NotFoundError as error:
        check("openai: another model is refused", error.status_code == 404)


async def many(house):
    import openai

    async with openai.AsyncOpenAI(base_url=f"{house.url}/v1", api_key=house.token, max_retries=0) as client:
        asked = [client.chat.completions.create(model="homeloop", messages=user("is the kitchen light on?")) for _ in range(20)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    texts = {getattr(a, "choices", None) and a.choices[0].message.content for a in answers}
    check("openai: twenty at once get the same answer", len(texts) == 1 and None not in texts, answers)


def with_ollama(house):
    import ollama

    client = ollama.Client(host=house.url, headers={"Authorization": f"Bearer {house.token}"})
    check("ollama: the models are listed", [model.model for model in client.list().models] == ["homeloop:latest"])
    answer = client.chat(model="homeloop", messages=user(ON))
    check("ollama: a command is carried out", house.value("light.kitchen") == "on" and answer.done, answer)
    lines = list(client.chat(model="homeloop:latest", messages=user("把厨房的灯关了"), stream=True))
    text = "".join(line.message.content for line in lines)
    check("ollama: a streamed command in Chinese is carried out", house.value("light.kitchen") == "off" and "灯" in text, lines)
    check("ollama: the stream ends", lines[-1].done and lines[-1].done_reason == "stop", lines[-1])

    def unlock_everything():
        """Unlocks everything."""

    answer = client.chat(model="homeloop", messages=user("is the front door locked?"), tools=[unlock_everything])
    check("ollama: tools of the caller are ignored", not answer.message.tool_calls and answer.message.content, answer)
    before = house.count()
    answer = client.chat(model="homeloop", messages=user(UNLOCK)).message.content
    check("ollama: an unlock waits for a person", house.approvals()[0]["match_code"] in answer and not house.commands(before), answer)
    deny_all(house)
    try:
        ollama.Client(host=house.url).list()
        check("ollama: without a token nothing is listed", False)
    except ollama.ResponseError as error:
        check("ollama: without a token nothing is listed", error.status_code == 401, error)


async def with_mcp(house):
    from mcp import ClientSession
    from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

    told = []

    async def progress(done, total, message):
        told.append(message)

    http = create_mcp_http_client(headers={"Authorization": f"Bearer {house.token}"})
    async with streamable_http_client(f"{house.url}/mcp", http_client=http) as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            check("mcp: the house's tools are there", {"light", "lock_unlock", "get_state"} <= set(tools), list(tools))
            check("mcp: and nothing that talks, approves or administers",
                  not any(word in name for name in tools for word in ("finish", "ask_user", "approve", "update")), list(tools))
            check("mcp: reads are marked as reads, unlocking as destructive",
                  tools["get_state"].annotations.read_only_hint and tools["lock_unlock"].annotations.destructive_hint, tools)
            result = await session.call_tool("light", {"verb": "turn_on", "entities": ["light.kitchen"]}, progress_callback=progress)
            check("mcp: a call is carried out, with its outcomes",
                  result.structured_content["outcomes"][0]["outcome"] == "confirmed", result)
            result = await session.call_tool("get_state", {"entities": ["light.kitchen"]})
            check("mcp: a read tells the state", "on" in str(result.structured_content["result"]), result)
            before = house.count()
            result = await session.call_tool("lock_unlock", {"verb": "unlock", "entities": ["lock.front_door"]})
            approval = result.structured_content["approval"]
            check("mcp: an unlock points to the page where a person decides",
                  approval["url"] == f"{house.url}/#approval={approval['approval_id']}" and not house.commands(before), result)
            deny_all(house)
            result = await session.call_tool("light", {"verb": "turn_on", "entities": ["light.cellar"]})
            check("mcp: what does not exist is an error of the call", result.is_error, result)
            try:
                await session.call_tool("shell", {"command": "reboot"})
                check("mcp: another tool does not exist", False)
            except Exception as error:  # The library has had several names for it.
                check("mcp: another tool does not exist", "no such tool" in str(error), error)


libraries = [name for name in ("openai", "ollama", "mcp") if importlib.util.find_spec(name)]
if not libraries:
    skip("openai, ollama and mcp are not installed")
for name in {"openai", "ollama", "mcp"} - set(libraries):
    print(f"skipped: {name} is not installed")
house = House("")
try:
    if "openai" in libraries:
        with_openai(house)
        asyncio.run(many(house))
    if "ollama" in libraries:
        with_ollama(house)
    if "mcp" in libraries:
        asyncio.run(with_mcp(house))
finally:
    house.stop()
finish()
