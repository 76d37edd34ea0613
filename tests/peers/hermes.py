"""Whole sessions of Rhasspy's real dialogue manager: we play wake word, microphone and speech recognition."""

import json
import os
import subprocess

from house import MQTT_PORT, PEERS, House, check, finish, skip

SITE = "default"
ENDED = "hermes/dialogueManager/sessionEnded"


def services(word, **more):
    """Rhasspy's services on homeloop's own broker."""
    env = {**os.environ, "MQTT_PORT": str(MQTT_PORT), **more}
    done = subprocess.run([PEERS + "/hermes-up.sh", word], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.decode()


def settle(house, nlu):
    """Waits until the services listen: the manager speaks a notification, and the understanding refuses nonsense."""
    note = json.dumps({"siteId": SITE, "init": {"type": "notification", "text": "ready"}})
    nonsense = json.dumps({"input": "purple monkey dishwasher", "siteId": SITE, "id": "settle", "sessionId": "settle"})
    waits = [("hermes/dialogueManager/startSession", note, ENDED)]
    if nlu:
        waits.append(("hermes/nlu/query", nonsense, "hermes/nlu/intentNotRecognized"))
    for topic, message, answer in waits:
        for _ in range(20):
            since = house.count()
            house.publish(topic, message)
            try:
                house.wait(answer, since, seconds=2)
                break
            except TimeoutError:
                continue


class Session:
    """One session from the wake word to its end."""

    def __init__(self, house):
        self.house, self.since = house, house.count()
        detected = {"modelId": "default", "modelVersion": "", "modelType": "personal", "currentSensitivity": 0.5,
                    "siteId": SITE, "sessionId": None, "sendAudioCaptured": None, "lang": None}
        house.publish("hermes/hotword/default/detected", json.dumps(detected))
        self.listening()

    def listening(self):
        """Waits until the microphone is asked for."""
        self.id = self.house.wait_json("hermes/asr/startListening", self.since)["sessionId"]

    def say(self, text):
        self.since = self.house.count()
        captured = {"text": text, "likelihood": 1.0, "seconds": 1.2, "siteId": SITE, "sessionId": self.id,
                    "wakewordId": None, "asrTokens": None, "lang": "en"}
        self.house.publish("hermes/asr/textCaptured", json.dumps(captured))

    def spoken(self):
        """What Rhasspy is told to speak next, and that it did."""
        said = self.house.wait_json("hermes/tts/say", self.since)["text"]
        self.house.wait("hermes/tts/sayFinished", self.since)
        return said

    def end(self):
        ended = self.house.wait_json(ENDED, self.since, lambda end: end["sessionId"] == self.id)
        return ended["termination"]["reason"]


def as_nlu():
    """homeloop is the language understanding: `role = "nlu"`."""
    house = House('[voice.hermes]\nrole = "nlu"\n[voice.sites]\ndefault = "kitchen"\n')
    try:
        done, said = services("start", NO_NLU="1")
        if not done:
            skip(f"Rhasspy's services do not start: {said[-300:]}")
        settle(house, nlu=False)
        house.set("light.kitchen", "off")
        session = Session(house)
        session.say("turn on the light")
        check("the reply is spoken by Rhasspy", "kitchen light" in session.spoken().lower(), "")
        check("the session ends as it should", session.end() == "nominal", "")
        check("the site is the area", house.value("light.kitchen") == "on", "")

        session = Session(house)
        before = session.since
        session.say("turn off the bedside lamp")
        question = session.spoken()
        check("a question is asked", question.strip().endswith("?"), question)
        session.listening()
        session.say("the left one")
        session.spoken()
        check("and answered in the same session", session.end() == "nominal", "")
        check("it is the left one alone", house.value("light.bedroom_left") == "off" and len(house.commands(before)) == 1,
              house.commands(before))

        session = Session(house)
        before = session.since
        session.say("unlock the front door")
        asked = session.spoken()
        waiting = house.approvals()
        check("an unlock ends the session with the code", session.end() == "nominal" and len(waiting) == 1
              and waiting[0]["match_code"] in asked, asked)
        session = Session(house)
        session.say("yes")
        session.spoken()
        session.end()
        check("a spoken yes decides nothing", not house.commands(before), house.commands(before))
        since = house.count()
        house.decide(waiting[0], "approve")
        said = house.wait_json("hermes/tts/say", since)
        check("the result is said at the site afterwards", "unlocked" in said["text"].lower() and said["siteId"] == SITE, said)
        check("it was sent once", len(house.commands(before)) == 1, house.commands(before))

        session = Session(house)
        session.say("purple monkey dishwasher")
        session.spoken()
        check("what nobody understands ends as well", session.end() == "nominal", "")
    finally:
        services("stop")
        house.stop()


def as_skill():
    """Rhasspy's own understanding finds the intent, homeloop answers it: `role = "skill"`."""
    house = House('[voice.hermes]\nrole = "skill"\n[voice.sites]\ndefault = "kitchen"\n')
    try:
        services("start")
        settle(house, nlu=True)
        house.set("light.kitchen", "off")
        session = Session(house)
        before = session.since
        session.say("turn on the kitchen light")
        house.wait("hermes/intent/ChangeLightState", session.since)
        session.spoken()
        check("an intent of Rhasspy's own understanding is carried out", session.end() == "nominal"
              and house.value("light.kitchen") == "on", "")
        check("once", len(house.commands(before)) == 1, house.commands(before))
    finally:
        services("stop")
        house.stop()


if not os.path.exists(PEERS + "/hermes-up.sh"):
    skip(f"no {PEERS}/hermes-up.sh; set PEERS to the folder that has it")
as_nlu()
as_skill()
finish()
