"""Talks to the server with the real client libraries; prints a word for each that understood it."""

import asyncio
import sys

import ollama
import openai
from mcp import ClientSession
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

URL, TOKEN = sys.argv[1:]
MESSAGES = [{"role": "user", "content": "kitchen light on"}]
REPLY = "reply to kitchen light on"

client = openai.OpenAI(base_url=f"{URL}/v1", api_key=TOKEN, max_retries=0)
assert [model.id for model in client.models.list()] == ["homeloop"]
answer = client.chat.completions.create(model="homeloop", messages=MESSAGES)
assert answer.choices[0].message.content == REPLY, answer
print("openai")

chunks = client.chat.completions.create(model="homeloop", messages=MESSAGES, stream=True)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text.endswith(REPLY), text
print("openai stream")

local = ollama.Client(host=URL, headers={"Authorization": f"Bearer {TOKEN}"})
assert local.list().models[0].model == "homeloop:latest"
assert local.chat(model="homeloop", messages=MESSAGES).message.content == REPLY
print("ollama")

lines = list(local.chat(model="homeloop", messages=MESSAGES, stream=True))
assert "".join(line.message.content for line in lines).endswith(REPLY)
assert lines[-1].done
print("ollama stream")


async def tools():
    headers = {"Authorization": f"Bearer {TOKEN}"}
    told = []

    async def progress(done, total, message):
        told.append(message)

    http = create_mcp_http_client(headers=headers)
    async with streamable_http_client(f"{URL}/mcp", http_client=http) as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            assert [tool.name for tool in listed.tools] == ["light", "lock_unlock"], listed
            result = await session.call_tool("light", {"entities": []}, progress_callback=progress)
            assert result.structured_content["outcomes"][0]["outcome"] == "confirmed", result
            assert told == ["sent to light.kitchen"], told


asyncio.run(tools())
print("mcp")
