"""The demo of the real binary, what is published on its broker, and checks. Used by the parts that `run` starts."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import paho.mqtt.client as mqtt

PEERS, PEERS_DIR = os.environ["PEERS"], os.environ["PEERS_DIR"]
MQTT_PORT = int(os.environ.get("PEERS_MQTT_PORT", "18841"))
HTTP_PORT = int(os.environ.get("PEERS_HTTP_PORT", "18134"))
failed = []


def check(what, holds, seen=""):
    print(("ok      " if holds else "FAILED  ") + what + ("" if holds else f": {str(seen)[:600]}"), flush=True)
    if not holds:
        failed.append(what)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(0)


def finish():
    print(f"{len(failed)} failed" if failed else "all passed")
    sys.exit(1 if failed else 0)


def figure(what, seconds):
    """Prints median, p95 and largest of times."""
    ordered = sorted(one * 1e3 for one in seconds)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(f"figure  {what}: median {ordered[len(ordered) // 2]:.1f} ms, p95 {p95:.1f} ms, most {ordered[-1]:.1f} ms "
          f"({len(ordered)})", flush=True)


class House:
    """A running demo. Everything on its broker is kept with the moment at which it came."""

    def __init__(self, settings=""):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False)
        self.file.write(f'[mqtt.embedded]\nbind = "127.0.0.1:{MQTT_PORT}"\n[http]\nbind = "127.0.0.1:{HTTP_PORT}"\n' + settings)
        self.file.close()
        self.process = subprocess.Popen(
            [os.environ["HOMELOOP"], "demo", "--json", "--config", self.file.name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**os.environ, "RUST_LOG": "warn"},
        )
        self.ready = json.loads(self.process.stdout.readline())
        self.token, self.url = self.ready["token"], "http://" + self.ready["http"]
        host, port = self.ready["mqtt"].rsplit(":", 1)
        self.came, self.more = [], threading.Condition()
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="peers-recorder")
        self.client.on_message = self._message
        subscribed = queue.Queue()
        self.client.on_connect = lambda client, *_: client.subscribe("#", 1)
        self.client.on_subscribe = lambda *_: subscribed.put(True)
        self.client.connect(host, int(port))
        self.client.loop_start()
        subscribed.get(timeout=10)
        self.port = int(port)

    def _message(self, _client, _data, message):
        at = time.perf_counter()
        with self.more:
            self.came.append((at, message.topic, message.payload))
            self.more.notify_all()

    def count(self):
        with self.more:
            return len(self.came)

    def wait(self, topic, since=0, holds=lambda body: True, seconds=20):
        """The first message on `topic` after `since` others: when it came, and its payload."""
        end = time.monotonic() + seconds
        with self.more:
            while True:
                for at, name, payload in self.came[since:]:
                    if name == topic and holds(payload):
                        return at, payload
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"nothing on {topic} in {seconds} s")
                self.more.wait(left)

    def wait_json(self, topic, since=0, holds=lambda body: True, seconds=20):
        return json.loads(self.wait(topic, since, lambda payload: holds(json.loads(payload)), seconds)[1])

    def commands(self, since=0):
        """Messages to devices."""
        with self.more:
            names = [name for _, name, _ in self.came[since:]]
        return [n for n in names if n.endswith("/set") and not n.startswith("homeloop-sim/") or n.startswith("cmnd/")]

    def publish(self, topic, payload):
        self.client.publish(topic, payload, 1)

    def set(self, entity, value):
        """Changes a simulated device by hand."""
        self.publish(f"homeloop-sim/{entity}/set", value)
        self.until(f"{entity} is {value}", lambda: self.value(entity) == value)

    def call(self, method, path, body=None, token=None):
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or "null")

    def get(self, path):
        return self.call("GET", path)[1]

    def value(self, entity):
        return self.get(f"/api/entities/{entity}")["value"]

    def approvals(self):
        return self.get("/api/approvals")

    def decide(self, approval, decision):
        body = {"v": 1, "plan_hash": approval["plan_hash"], "decision": decision}
        return self.call("POST", f"/api/approvals/{approval['approval_id']}", body)

    def until(self, what, look, seconds=20):
        """Waits until `look` gives something that holds."""
        end, seen = time.monotonic() + seconds, None
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                seen = look()
                if seen:
                    return seen
            time.sleep(0.02)
        raise TimeoutError(f"{what}: not in {seconds} s; seen {seen!r}")

    def stop(self):
        self.client.loop_stop()
        self.client.disconnect()
        self.process.terminate()
        self.process.wait(20)
        os.unlink(self.file.name)
