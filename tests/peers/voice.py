"""Spoken commands as WAV files over MQTT: real recognition (pocketsphinx) and real speech (flite for the person,
espeak-ng for the reply), end to end."""

import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import wave

from house import PEERS, House, check, finish, skip

STT_PORT = int(os.environ.get("PEERS_SPEECH_PORT", "18520"))
KITCHEN = "homeloop/home/voice/kitchen"
SCENE = "I'm going to bed, set the house to sleep mode"


def spoken(text):
    """A WAV file of a sentence: 16 kHz, one channel, half a second of silence around it."""
    with tempfile.TemporaryDirectory() as folder:
        raw, file = folder + "/raw.wav", folder + "/said.wav"
        subprocess.run(["flite", "-voice", "slt", "-t", text, "-o", raw], check=True)
        subprocess.run(["sox", raw, "-r", "16000", "-c", "1", "-b", "16", file, "pad", ".5", ".5"], check=True)
        return open(file, "rb").read()


class Engines:
    """The Wyoming server of the peers, with a grammar of the sentences that are spoken here."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        for name in ("wyoming_peer.py", "peers_dir.py"):
            shutil.copy(f"{PEERS}/{name}", self.folder.name)
        shutil.copy(os.path.dirname(os.path.abspath(__file__)) + "/scene.gram", self.folder.name + "/home.gram")
        self.process = subprocess.Popen(
            [sys.executable, self.folder.name + "/wyoming_peer.py", "--port", str(STT_PORT), "--services", "asr,tts",
             "--asr", "ps"], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.address = f"127.0.0.1:{STT_PORT}"

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.folder.cleanup()


def engines():
    """Starts the speech engines, or says what is missing and ends."""
    if not os.path.exists(f"{PEERS}/wyoming_peer.py"):
        skip(f"no {PEERS}/wyoming_peer.py; set PEERS to the folder that has it")
    for tool in ("flite", "espeak-ng", "sox"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if not importlib.util.find_spec("pocketsphinx"):
        skip("pocketsphinx is not installed")
    return Engines()


def settings(speech):
    return f'[voice.speech]\nstt = "{speech.address}"\ntts = "{speech.address}"\n'


def say(house, text):
    """Speaks at the kitchen's microphone; returns the first text about it and the number of messages before."""
    before = house.count()
    house.publish(KITCHEN + "/audio", spoken(text))
    return house.wait_json(KITCHEN + "/text", before), before


def is_speech(wav):
    """Whether it is a WAV file with sound in it, and how long."""
    with wave.open(io.BytesIO(wav)) as file:
        loudest = max(abs(int.from_bytes(wav[at:at + 2], "little", signed=True)) for at in range(44, len(wav) - 1, 2))
        return loudest > 1000, file.getnframes() / file.getframerate()


def scene(house):
    told, before = say(house, SCENE)
    check("the scene is understood", told.get("heard", "").startswith("i'm going to bed"), told)
    if not told.get("final"):
        told = house.wait_json(KITCHEN + "/text", before, lambda text: text["final"])
    check("it ends as done", told["exit"] == "done", told)
    check("the reply names the open balcony door", "balcony door" in told["text"].lower() and "open" in told["text"], told)
    check("the front door is locked", house.value("lock.front_door") == "locked", house.value("lock.front_door"))
    check("the lights are off", house.value("light.living_room_ceiling") == "off", house.get("/api/entities?domain=light"))
    _, speech = house.wait(KITCHEN + "/speech", before)
    loud, seconds = is_speech(speech)
    check(f"the reply is spoken: {seconds:.1f} s of speech", loud and seconds > 1, seconds)


def area(house):
    house.set("light.kitchen", "off")
    told, before = say(house, "turn on the light")
    check("\"the light\" is that of the site", told.get("exit") == "done" and house.value("light.kitchen") == "on", told)
    check("and no other", len(house.commands(before)) == 1, house.commands(before))


def unlock(house):
    told, before = say(house, "unlock the front door")
    waiting = house.approvals()
    check("an unlock waits, and its code is told", len(waiting) == 1 and waiting[0]["match_code"] in told["text"], told)
    house.wait(KITCHEN + "/speech", before)
    say(house, "yes")
    check("a spoken yes decides nothing", house.value("lock.front_door") == "locked" and not house.commands(before), "")
    house.decide(waiting[0], "approve")
    last = house.wait_json(KITCHEN + "/text", before, lambda text: text.get("final") and "unlocked" in text["text"].lower())
    check("a person's decision is spoken at the site", last["exit"] == "done", last)
    check("it was sent once", len(house.commands(before)) == 1, house.commands(before))


def noise(house):
    before = house.count()
    silence = io.BytesIO()
    with wave.open(silence, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(bytes(32000))
    house.publish(KITCHEN + "/audio", silence.getvalue())
    told = house.wait_json(KITCHEN + "/text", before)
    check("silence is no command", "no speech" in told.get("error", ""), told)


def main():
    speech = engines()
    house = House(settings(speech))
    try:
        scene(house)
        area(house)
        unlock(house)
        noise(house)
        speech.stop()
        before = house.count()
        house.publish(KITCHEN + "/audio", spoken("turn off the light"))
        told = house.wait_json(KITCHEN + "/text", before)
        check("without the engines it is told", "cannot be reached" in told.get("error", "") and told["text"], told)
    finally:
        house.stop()
        if speech.process.poll() is None:
            speech.stop()
    finish()


if __name__ == "__main__":
    main()
