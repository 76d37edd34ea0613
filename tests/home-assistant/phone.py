"""The blueprint of deploy/home-assistant, carried out by Home Assistant itself, with a phone of its companion app: it
registers, takes notifications over its WebSocket channel, and answers through its webhook, as the app does."""

import asyncio
import os

DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/home-assistant")
BLUEPRINT = "homeloop/approval_notification.yaml"


def install_package(config, http_port, token):
    """Puts the package and the secret of the person who decides where Home Assistant reads them."""
    os.makedirs(config + "/packages", exist_ok=True)
    with open(DEPLOY + "/homeloop.yaml") as given, open(config + "/packages/homeloop.yaml", "w") as file:
        file.write(given.read().replace("127.0.0.1:8124", f"127.0.0.1:{http_port}"))
    with open(config + "/secrets.yaml", "w") as file:
        file.write(f'homeloop_decider: "Bearer {token}"\n')


def inputs():
    return {"approval_event": "event.homeloop_approval", "notify_action": "notify.mobile_app_annas_phone",
            "decide_action": "rest_command.homeloop_decide"}


class Phone:
    """Anna's phone."""

    def __init__(self, ha):
        self.ha = ha

    async def register(self):
        for entry in await self.ha.entries("mobile_app"):
            # Of an earlier run: a name that is there twice gets another notify action.
            await self.ha.rest("DELETE", "/api/config/config_entries/entry/" + entry["entry_id"])
        body = {"app_id": "check", "app_name": "check", "app_version": "1", "device_name": "Annas phone",
                "device_id": "annas-phone", "manufacturer": "none", "model": "none", "os_name": "none", "os_version": "1",
                "supports_encryption": False, "app_data": {"push_websocket_channel": True}}
        answer = await self.ha.rest("POST", "/api/mobile_app/registrations", json=body)
        self.webhook = answer["webhook_id"]
        await self.ha.cmd(type="mobile_app/push_notification_channel", webhook_id=self.webhook)
        self.channel = self.ha.n

    async def notification(self, wanted, seconds=20):
        """The next notification for which `wanted` holds."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            for number, (_, message) in enumerate(self.ha.ev):
                if message.get("id") == self.channel and message["type"] == "event" and wanted(message["event"]):
                    del self.ha.ev[number]
                    return message["event"]
            await asyncio.sleep(0.05)
        return None

    async def press(self, action):
        """Presses a button of a notification."""
        data = {"event_type": "mobile_app_notification_action", "event_data": {"action": action}}
        await self.ha.rest("POST", f"/api/webhook/{self.webhook}", json={"type": "fire_event", "data": data})


async def automate(ha):
    """Makes the automation of the blueprint, as the editor of the page does."""
    body = {"alias": "homeloop asks Anna", "use_blueprint": {"path": BLUEPRINT, "input": inputs()}}
    await ha.rest("POST", "/api/config/automation/config/homeloop_asks_anna", json=body)


async def decides(ha, homeloop, say, check, until):
    """An unlock: notification, button, decision over HTTP, door; and once more with the other button."""
    phone = Phone(ha)
    await phone.register()
    await automate(ha)

    async def listening():
        states = await ha.states()
        return any(s["state"] == "on" for id, s in states.items() if id.startswith("automation."))

    await until("the automation of the blueprint is on", listening)
    for word, door, pressed in (("deny", "locked", "HOMELOOP_DENY_"), ("approve", "unlocked", "HOMELOOP_APPROVE_")):
        speech, _ = await say(ha, "unlock the front door")
        waiting = await homeloop.call("GET", "/api/approvals")
        shown = await phone.notification(lambda event: "actions" in event.get("data", {}))
        actions = [action["action"] for action in (shown or {}).get("data", {}).get("actions", [])]
        check("the phone shows who, what, and the code", shown and len(waiting) == 1
              and waiting[0]["match_code"] in shown["title"] and waiting[0]["match_code"] in speech
              and "unlock the front door" in shown["message"], (shown, waiting))
        button = next((action for action in actions if action == pressed + waiting[0]["approval_id"]), None)
        check(f"it has the button to {word}", button is not None, actions)
        await phone.press(button)

        async def decided():
            return not await homeloop.call("GET", "/api/approvals")

        await until(f"{word} reaches homeloop over HTTP with the person's token", decided)

        async def stands():
            return (await homeloop.call("GET", "/api/entities/lock.front_door"))["value"] == door

        await until(f"the door is {door}", stands)
        cleared = await phone.notification(lambda event: event.get("message") == "clear_notification")
        check("the notification goes away", cleared is not None, ha.ev[-3:])
