"""How long homeloop itself takes: from the end of audio to the device, and until the first byte of a streamed chat."""

import asyncio
import json
import multiprocessing
import os
import socket
import time

from house import House, check, figure, finish

SAMPLES = int(os.environ.get("SAMPLES", "200"))
SPEECH_PORT = int(os.environ.get("PEERS_SPEECH_PORT", "18520"))
KITCHEN = "homeloop/home/voice/kitchen"


async def recognise(held, ready):
    """A speech-to-text service that takes no time of its own: it says on and off in turns. It tells how long it held
    the last of the audio before it answered."""
    count = 0

    async def connection(reader, writer):
        nonlocal count
        while line := await reader.readline():
            header = json.loads(line)
            await reader.readexactly(header.get("data_length", 0) + header.get("payload_length", 0))
            if header["type"] == "audio-stop":
                came = time.perf_counter()
                text = f"turn {'off' if count % 2 else 'on'} the light"
                count += 1
                writer.write(json.dumps({"type": "transcript", "data": {"text": text}}).encode() + b"\n")
                await writer.drain()
                held.put(time.perf_counter() - came)
        writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", SPEECH_PORT)
    ready.set()
    async with server:
        await server.serve_forever()


def recogniser(held, ready):
    asyncio.run(recognise(held, ready))


def wav(seconds):
    """A WAV file of so many seconds at 16 kHz."""
    size = seconds * 32000
    head = b"RIFF" + (36 + size).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    head += (1).to_bytes(2, "little") * 2 + (16000).to_bytes(4, "little") + (32000).to_bytes(4, "little")
    head += (2).to_bytes(2, "little") + (16).to_bytes(2, "little") + b"data" + size.to_bytes(4, "little")
    return head + bytes(size)


def from_audio_to_device(house):
    """From the publish of three seconds of audio until the device's message is seen, less what recognition took."""
    # In a process of its own, so that reading the audio there does not wait for the one who measures.
    held, ready = multiprocessing.Queue(), multiprocessing.Event()
    service = multiprocessing.Process(target=recogniser, args=(held, ready), daemon=True)
    service.start()
    ready.wait(10)
    own, audio = [], wav(3)
    for _ in range(SAMPLES):
        before = house.count()
        begun = time.perf_counter()
        house.publish(KITCHEN + "/audio", audio)
        seen, _ = house.wait(house.device, before)
        own.append(seen - begun - held.get(timeout=10))
        house.wait_json(KITCHEN + "/text", before, lambda text: text.get("final"))
    service.terminate()
    figure("end of audio to the device's publish, own share", own)
    check("p95 is under 20 ms", sorted(own)[int(len(own) * 0.95)] < 0.020)


def first_byte(house, path, body):
    """Connects anew, asks, and waits for the first byte of the body and for its end."""
    text = json.dumps(body).encode()
    host, port = house.ready["http"].rsplit(":", 1)
    request = (f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {house.token}\r\n"
               f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n").encode() + text
    begun = time.perf_counter()
    with socket.create_connection((host, int(port))) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream.sendall(request)
        got, first, word = b"", None, None
        while piece := stream.recv(65536):
            got += piece
            _, ends, rest = got.partition(b"\r\n\r\n")
            if ends and rest and first is None:
                first = time.perf_counter() - begun
            if word is None and b"itchen light" in rest:
                word = time.perf_counter() - begun
    assert got.startswith(b"HTTP/1.1 200"), got[:300]
    return first, word


def from_question_to_byte(house, path):
    firsts, words = [], []
    for number in range(SAMPLES):
        said = "turn on the kitchen light" if number % 2 == 0 else "turn off the kitchen light"
        body = {"model": "homeloop", "stream": True, "messages": [{"role": "user", "content": said}]}
        first, word = first_byte(house, path, body)
        firsts.append(first)
        words.append(word)
    figure(f"{path}: first streamed byte", firsts)
    figure(f"{path}: the reply, which the lamp has confirmed", words)
    check("the first byte is there in under 50 ms", max(firsts) < 0.050, max(firsts))


house = House(f'[agent]\ncommands_per_minute = 0\n[voice.speech]\nstt = "127.0.0.1:{SPEECH_PORT}"\n')
try:
    before = house.count()
    house.call("POST", "/api/commands", {"text": "turn on the kitchen light"})
    house.call("POST", "/api/commands", {"text": "turn off the kitchen light"})
    house.device = house.commands(before)[0]
    from_audio_to_device(house)
    from_question_to_byte(house, "/v1/chat/completions")
    from_question_to_byte(house, "/api/chat")
finally:
    house.stop()
finish()
