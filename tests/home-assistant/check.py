"""What the real Home Assistant and the real homeloop make of each other. Started by `run`; each line is one check."""

import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import aiohttp
import paho.mqtt.client as mqtt

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["PEERS"])
from ha_api import HA  # noqa: E402
import phone  # noqa: E402

MQTT_PORT = int(os.environ["MQTT_PORT"])
HTTP_PORT = int(os.environ.get("HOMELOOP_HTTP_PORT", "18124"))
WYOMING_PORT = int(os.environ.get("HOMELOOP_WYOMING_PORT", "18500"))
HA_URL = f"http://127.0.0.1:{os.environ['HA_PORT']}"
TOKEN_FILE = os.environ["PEERS_DIR"] + "/run/ha.token"
CONFIG = os.environ["HA_CONFIG"]
SENTENCES = int(os.environ.get("SENTENCES", "200"))
failed = []


def check(what, holds, seen=""):
    print(("ok      " if holds else "FAILED  ") + what + ("" if holds else f": {str(seen)[:400]}"), flush=True)
    if not holds:
        failed.append(what)


async def until(what, look, seconds=30):
    """Waits for something that must come; returns it, or None and a failed check."""
    end, seen = time.monotonic() + seconds, None
    while time.monotonic() < end:
        with contextlib.suppress(Exception):
            seen = await look()
            if seen:
                check(what, True)
                return seen
        await asyncio.sleep(0.1)
    check(what, False, seen)
    return None


class Devices:
    """A lamp and a lock that speak MQTT and announce themselves, and a record of when they were told something."""

    def __init__(self, loop):
        self.loop, self.told, self.waiting = loop, [], None
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="bench-devices")
        self.client.on_message, self.client.on_connect = self.message, self.connected
        self.client.connect_async("127.0.0.1", MQTT_PORT)
        self.client.loop_start()

    def connected(self, client, *_):
        client.subscribe([("bench/lamp/set", 1), ("bench/lock/set", 1)])
        device = {"identifiers": ["bench"], "name": "Bench"}
        for component, name, more in (
            ("light", "lamp", {"payload_on": "ON", "payload_off": "OFF"}),
            ("lock", "lock", {"payload_lock": "LOCK", "payload_unlock": "UNLOCK"}),
        ):
            config = {
                "name": name, "unique_id": f"bench_{name}", "device": device, "command_topic": f"bench/{name}/set",
                "state_topic": f"bench/{name}/state", **more,
            }
            client.publish(f"homeassistant/{component}/bench_{name}/config", json.dumps(config), 1, True)
        client.publish("bench/lamp/state", "OFF", 1, True)
        client.publish("bench/lock/state", "LOCKED", 1, True)

    def message(self, client, _, message):
        at, text = time.perf_counter(), message.payload.decode()
        self.told.append((message.topic, text))
        client.publish(message.topic.replace("/set", "/state"), {"LOCK": "LOCKED", "UNLOCK": "UNLOCKED"}.get(text, text), 1, True)
        self.loop.call_soon_threadsafe(self.arrived, at)

    def arrived(self, at):
        if self.waiting and not self.waiting.done():
            self.waiting.set_result(at)


class Homeloop:
    """The demo of the real binary, with settings, on the broker port that Home Assistant knows."""

    def __init__(self, settings, wyoming="127.0.0.1"):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False)
        self.file.write(
            f'[mqtt.embedded]\nbind = "127.0.0.1:{MQTT_PORT}"\n[http]\nbind = "127.0.0.1:{HTTP_PORT}"\n'
            f'[voice.wyoming]\nenabled = true\nbind = "{wyoming}:{WYOMING_PORT}"\n' + settings
        )
        self.file.close()
        self.process = subprocess.Popen(
            [os.environ["HOMELOOP"], "demo", "--json", "--config", self.file.name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**os.environ, "RUST_LOG": "warn"},
        )
        self.ready = json.loads(self.process.stdout.readline())
        self.headers = {"Authorization": "Bearer " + self.ready["token"]}

    async def call(self, method, path, body=None):
        async with aiohttp.ClientSession(headers=self.headers) as session:
            async with session.request(method, f"http://{self.ready['http']}{path}", json=body) as answer:
                return await answer.json()

    async def approve(self, approval):
        body = {"v": 1, "plan_hash": approval["plan_hash"], "decision": "approve"}
        return await self.call("POST", "/api/approvals/" + approval["approval_id"], body)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        os.unlink(self.file.name)


async def say(ha, text, agent="conversation.homeloop", conversation=None):
    answer = await ha.cmd(
        type="conversation/process", text=text, language="en", agent_id=agent, conversation_id=conversation
    )
    return answer["response"]["speech"]["plain"]["speech"], answer["conversation_id"]


async def our_device(ha):
    await until("our device is discovered", lambda: state(ha, "sensor.homeloop_status", "ready"), 60)
    devices = await ha.cmd(type="config/device_registry/list")
    ours = [device for device in devices if ["mqtt", "homeloop_home"] in device["identifiers"]]
    check("it is one device with our version", len(ours) == 1 and ours[0]["sw_version"], ours)
    entries = await ha.cmd(type="config/entity_registry/list")
    entries = [entry for entry in entries if ours and entry["device_id"] == ours[0]["id"]]
    check("it has its eleven entities", len(entries) == 11, [entry["entity_id"] for entry in entries])
    approving = [e["entity_id"] for e in entries if "approv" in e["entity_id"]]
    check("approvals are an event and a sensor", {e.split(".")[0] for e in approving} == {"event", "sensor"}, approving)
    await ha.cmd(type="call_service", domain="text", service="set_value", target={"entity_id": "text.homeloop_command"},
                 service_data={"value": "turn on the kitchen light"})
    await until("a command through the text entity", lambda: state(ha, "sensor.homeloop_last_command", "turn on the kitchen light"))
    await ha.cmd(type="call_service", domain="switch", service="turn_on", target={"entity_id": "switch.homeloop_pause"})
    await until("the pause is shown", lambda: state(ha, "sensor.homeloop_status", "paused"))
    await ha.cmd(type="call_service", domain="switch", service="turn_off", target={"entity_id": "switch.homeloop_pause"})
    await until("and ends", lambda: state(ha, "sensor.homeloop_status", "ready"))


async def state(ha, entity, value):
    return (await ha.states()).get(entity, {}).get("state") == value


async def conversation(ha, homeloop):
    for entry in await ha.entries("wyoming"):
        # Of an earlier run: Home Assistant has long given up trying it often.
        await ha.rest("DELETE", "/api/config/config_entries/entry/" + entry["entry_id"])
    flow = await ha.flow("wyoming", {"user": {"host": "127.0.0.1", "port": WYOMING_PORT}})
    check("Wyoming is added by its config flow", flow["type"] == "create_entry", flow)

    async def agent():
        listed = await ha.cmd(type="conversation/agent/list", language="en")
        return [one for one in listed["agents"] if one["id"] == "conversation.homeloop"]

    found = await until("homeloop is a conversation agent", agent)
    check("for English", bool(found) and "en" in found[0]["supported_languages"], found)
    speech, _ = await say(ha, "I'm going to bed, set the house to sleep mode")
    check("the scene names the open door", "balcony door" in speech.lower() and "open" in speech, speech)
    speech, thread = await say(ha, "unlock the front door")
    waiting = await homeloop.call("GET", "/api/approvals")
    check("the unlock waits, and its code is spoken", len(waiting) == 1 and waiting[0]["match_code"] in speech, speech)
    for words in ("yes", "approve", "yes, unlock it"):
        await say(ha, words, conversation=thread)
    lock = await homeloop.call("GET", "/api/entities/lock.front_door")
    check("a spoken yes decides nothing", lock["value"] == "locked", lock)

    async def asked():
        event = (await ha.states()).get("event.homeloop_approval", {})
        facts = event.get("attributes", {})
        return facts if facts.get("event_type") == "asked" and facts.get("match_code") else None

    facts = await until("the approval is an event with its code and plan", asked)
    if facts:
        verdict = await homeloop.approve(facts)
        check("a person's token decides with what the event holds", verdict.get("verdict") == "approved", verdict)

    async def unlocked():
        return (await homeloop.call("GET", "/api/entities/lock.front_door"))["value"] == "unlocked"

    await until("the door is unlocked", unlocked)


async def blueprint(ha):
    """Home Assistant's own schemas read the blueprint and the automation that it makes."""
    text = open(phone.DEPLOY + "/approval_notification.yaml").read()
    path = phone.BLUEPRINT
    saved = await ha.cmd(type="blueprint/save", domain="automation", path=path, yaml=text, allow_override=True)
    check("the blueprint is valid", saved is not None, saved)
    made = await ha.cmd(type="blueprint/substitute", domain="automation", path=path, input=phone.inputs())
    made = made["substituted_config"]
    valid = await ha.cmd(type="validate_config", **{part: made[part] for part in ("triggers", "conditions", "actions")})
    check("its triggers, conditions and actions are valid", all(part["valid"] for part in valid.values()), valid)


async def latency(ha, devices):
    """Sentence at Home Assistant's conversation API until the device's MQTT publish, in turns."""
    await until("the lamp is known to both", lambda: state(ha, "light.bench_lamp", "off"))
    times = {"conversation.homeloop": [], "conversation.home_assistant": []}
    for number in range(SENTENCES):
        for agent, seen in times.items():
            word = "on" if agent.endswith("homeloop") else "off"
            devices.waiting = asyncio.get_running_loop().create_future()
            begun = time.perf_counter()
            answer = asyncio.create_task(say(ha, f"turn {word} the bench lamp", agent))
            try:
                seen.append(await asyncio.wait_for(devices.waiting, 10) - begun)
            except asyncio.TimeoutError:
                check(f"sentence {number} to {agent} reaches the lamp", False, await answer)
                return
            await answer
            await asyncio.sleep(0.02)
    medians = {agent: statistics.median(seen) * 1e3 for agent, seen in times.items()}
    p95 = {agent: sorted(seen)[int(len(seen) * 0.95)] * 1e3 for agent, seen in times.items()}
    for agent in times:
        print(f"figure  {agent}: sentence to MQTT publish, median {medians[agent]:.1f} ms, p95 {p95[agent]:.1f} ms ({SENTENCES})")
    check("homeloop's median is no slower", medians["conversation.homeloop"] <= medians["conversation.home_assistant"], medians)


async def websocket(ha, homeloop, devices):
    await ha.cmd(type="homeassistant/expose_entity", assistants=["conversation"],
                 entity_ids=["light.bench_lamp", "lock.bench_lock"], should_expose=True)

    async def known():
        found = await homeloop.call("GET", "/api/entities/lock.bench_lock")
        return found.get("value") == "locked"

    await until("Home Assistant's entities are ours", known)
    result = await homeloop.call("POST", "/api/commands", {"text": "turn on the bench lamp"})
    check("its light is switched and confirmed", [o["outcome"] for o in result["outcomes"]] == ["confirmed"], result)
    before = len(devices.told)
    asking = asyncio.create_task(homeloop.call("POST", "/api/commands", {"text": "unlock the bench lock"}))

    async def waiting():
        return [one for one in await homeloop.call("GET", "/api/approvals")]

    approvals = await until("its lock waits for a person", waiting)
    check("and is not told before", devices.told[before:] == [], devices.told[before:])
    await homeloop.approve(approvals[0])
    result = await asking
    check("the lock is confirmed by Home Assistant's state", [o["outcome"] for o in result["outcomes"]] == ["confirmed"], result)
    check("it was told once", devices.told[before:] == [("bench/lock/set", "UNLOCK")], devices.told[before:])


async def restart(homeloop, devices):
    """Home Assistant goes and comes back in the middle."""
    going = await asyncio.create_subprocess_exec(
        os.environ["PEERS"] + "/ha-up.sh", "restart", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def away():
        # Home Assistant takes its time to go, and only so many commands a minute are taken.
        await asyncio.sleep(0.5)
        result = await homeloop.call("POST", "/api/commands", {"text": "turn off the bench lamp"})
        return result["outcomes"] and result["outcomes"][0]["outcome"] == "not_sent"

    await until("while it is away nothing is sent, and the reply says so", away, 60)
    before = len(devices.told)
    await going.wait()

    async def back():
        result = await homeloop.call("POST", "/api/commands", {"text": "turn off the bench lamp"})
        return result["outcomes"] and result["outcomes"][0]["outcome"] in ("confirmed", "already")

    await until("afterwards it is used again", back, 120)
    check("nothing was done twice", len(devices.told) - before <= 1, devices.told[before:])


def doctor():
    """`homeloop doctor` says how it stands with Home Assistant, and what is wrong with a token."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = folder + "/wrong.token"
        with open(wrong, "w") as file:
            file.write("wrong\n")
        for token, says in ((TOKEN_FILE, "gives"), (wrong, "refused the token")):
            settings = folder + "/doctor.toml"
            with open(settings, "w") as file:
                file.write(f'state_dir = "{folder}"\n[hass]\nurl = "{HA_URL}"\ntoken_file = "{token}"\n')
            run = subprocess.run([os.environ["HOMELOOP"], "doctor", "--json", "--config", settings], stdout=subprocess.PIPE)
            found = [one for one in json.loads(run.stdout)["findings"] if one["check"] == "hass"]
            check(f"doctor: {says}", found and says in found[0]["says"], found)


def own_address():
    """The address of this machine on its network, if it has one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]
    return None


async def found_by_itself():
    """The Wyoming server, announced on the network, is offered by Home Assistant without being typed in."""
    address = own_address()
    if not address:
        print("skipped: this machine has no network, so nothing is announced")
        return
    homeloop = Homeloop("", address)
    try:
        async with HA() as ha:
            async def offered():
                flows = await ha.cmd(type="config_entries/flow/progress")
                flows = [f for f in flows if f["handler"] == "wyoming" and f["context"]["source"] == "zeroconf"]
                return [f for f in flows if f["context"]["title_placeholders"]["name"] == "homeloop"]

            flows = await until("Home Assistant offers homeloop by zeroconf", offered, 60)
            if flows:
                done = await ha.rest("POST", "/api/config/config_entries/flow/" + flows[0]["flow_id"], json={})
                check("and one click adds it", done["type"] == "create_entry", done)
                await ha.rest("DELETE", "/api/config/config_entries/entry/" + done["result"]["entry_id"])
    finally:
        homeloop.stop()


async def lock_again(homeloop):
    result = await homeloop.call("POST", "/api/commands", {"text": "lock the front door"})
    check("the door is locked again", [o["outcome"] for o in result["outcomes"]] == ["confirmed"], result)


async def main():
    devices = Devices(asyncio.get_running_loop())
    # 200 sentences in a few seconds are more than a person says.
    homeloop = Homeloop("[agent]\ncommands_per_minute = 0\n")
    try:
        async with HA() as ha:
            await our_device(ha)
            await blueprint(ha)
            await conversation(ha, homeloop)
            await lock_again(homeloop)
            phone.install_package(CONFIG, HTTP_PORT, homeloop.ready["token"])
            await ha.cmd(type="call_service", domain="rest_command", service="reload")
            await phone.decides(ha, homeloop, say, check, until)
            await latency(ha, devices)
        if "--stay" in sys.argv:
            print(f"homeloop stays: {json.dumps(homeloop.ready)}; end with Ctrl-C", flush=True)
            await asyncio.Event().wait()
    finally:
        homeloop.stop()
    # Announcements are not read now: what homeloop knows of the lamp and the lock it knows from Home Assistant.
    homeloop = Homeloop(f'[discovery]\nenabled = false\n[hass]\nurl = "{HA_URL}"\ntoken_file = "{TOKEN_FILE}"\n')
    try:
        async with HA() as ha:
            await until("MQTT is back in Home Assistant", lambda: state(ha, "sensor.homeloop_status", "ready"), 60)
            await websocket(ha, homeloop, devices)
        await restart(homeloop, devices)
        doctor()
    finally:
        homeloop.stop()
    await found_by_itself()
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(asyncio.run(main()))
