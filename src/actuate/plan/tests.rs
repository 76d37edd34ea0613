//! What becomes a plan, and what does not.

use std::sync::Arc;

use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::actuate::port::{Port, Secret, SendError};
use crate::devices::{Codec, Decoded, Payload};

use crate::home::{ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, Category, Places};

struct Plain;

impl Codec for Plain {
    fn subscriptions(&self) -> Vec<String> {
        Vec::new()
    }

    fn decode(&self, _topic: &str, _payload: &Payload<'_>, _now: &State) -> Decoded {
        Decoded::Nothing
    }

    fn encode(&self, action: &Action, _now: &State) -> Result<Vec<Message>, EncodeError> {
        let topic = match action.entity.object_id() {
            "evil" => "zigbee2mqtt/bridge/request/permit_join".to_owned(),
            name => format!("dev/{name}/set"),
        };
        let code = if action.verb == Verb::Disarm { " ${secret:panel}" } else { "" };
        Ok(vec![Message::text(topic, format!("{}{code} {}", action.verb, json!(action.args)))])
    }
}

struct Nowhere;

impl Port for Nowhere {
    fn send<'a>(
        &'a self,
        _message: &'a Message,
    ) -> futures_util::future::BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Down("test".into())) })
    }

    fn is_up(&self) -> bool {
        false
    }

    fn connection(&self) -> u64 {
        0
    }
}

struct All;

impl Codecs for All {
    fn codec(&self, entity: &EntityId) -> Option<(Arc<dyn Codec>, Arc<dyn Port>)> {
        (entity.object_id() != "mute").then(|| (Arc::new(Plain) as _, Arc::new(Nowhere) as _))
    }
}

struct Panel(&'static str);

impl Secrets for Panel {
    fn secret(&self, name: &str) -> Option<Secret> {
        let secret = || Secret { value: SecretString::from("1234"), version: self.0.to_owned() };
        (name == "panel" && !self.0.is_empty()).then(secret)
    }
}

fn entity(id: &str, verbs: &[Verb], members: &[&str]) -> Entity {
    let spec = |verb: &Verb| match verb {
        Verb::TurnOn if id != "light.plain" => {
            ActionSpec::new(*verb).with(ArgSpec::optional(Arg::BrightnessPct, ArgKind::percent()))
        }
        verb => ActionSpec::new(*verb),
    };
    Entity {
        id: EntityId::parse(id).unwrap(),
        name: format!("the {id}"),
        aliases: Vec::new(),
        area: None,
        device: None,
        device_class: None,
        category: Category::Main,
        unit: None,
        actions: verbs.iter().map(spec).collect(),
        members: members.iter().map(|id| EntityId::parse(id).unwrap()).collect(),
        reports_state: true,
        source: crate::home::HOME_FILE.into(),
    }
}

fn house() -> House {
    let mut house = House::new(Places::default());
    let on_off = &[Verb::TurnOn, Verb::TurnOff];
    for (id, verbs, members) in [
        ("light.a", on_off as &[Verb], &[] as &[&str]),
        ("light.plain", on_off, &[]),
        ("light.mute", on_off, &[]),
        ("light.looks", &[], &[]),
        ("light.evil", on_off, &[]),
        ("light.all", on_off, &["light.a", "light.plain"]),
        ("light.trap", on_off, &["light.a", "lock.front"]),
        ("lock.front", &[Verb::Lock, Verb::Unlock], &[]),
        ("alarm_control_panel.home", &[Verb::ArmAway, Verb::Disarm], &[]),
    ] {
        house.insert(entity(id, verbs, members));
    }
    house
}

fn plan_with(
    house: &House,
    secret: &'static str,
    version: &str,
    actions: &[Action],
) -> Result<Plan, PlanError> {
    let containment = Containment::default();
    let maker = Maker {
        house,
        codecs: &All,
        secrets: &Panel(secret),
        containment: &containment,
        policy_version: version,
    };
    maker.plan(actions)
}

fn action(id: &str, verb: Verb) -> Action {
    Action::new(EntityId::parse(id).unwrap(), verb)
}

fn plan(actions: &[Action]) -> Result<Plan, PlanError> {
    plan_with(&house(), "v1", "p1", actions)
}

#[test]
fn groups_become_their_leaves() {
    let dim = action("light.all", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(40.0));
    let made = plan(&[dim, action("light.a", Verb::TurnOn)]).unwrap();
    let shown: Vec<String> = made.actions().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "light.turn_on light.a {\"brightness_pct\":40.0}",
            "light.turn_on light.plain", // it cannot be dimmed
            "light.turn_on light.a",
        ]
    );
}

#[test]
fn a_lock_in_a_group_of_lamps_is_no_lamp() {
    let error = plan(&[action("light.trap", Verb::TurnOff)]).unwrap_err();
    assert_eq!(error.to_string(), "lock.front cannot turn_off; it can lock, unlock");
}

#[test]
fn what_cannot_be_done_is_said() {
    let bright =
        |percent| action("light.a", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(percent));
    for (actions, says) in [
        (vec![], "there is nothing to do"),
        (vec![action("light.none", Verb::TurnOn)], "no entity light.none"),
        (vec![action("lock.front", Verb::TurnOn)], "lock.front cannot turn_on; it can lock, unlock"),
        (vec![bright(101.0)], "light.a: brightness_pct 101 is outside 0 to 100"),
        (vec![bright(-1.0)], "light.a: brightness_pct -1 is outside 0 to 100"),
        (vec![bright(f64::NAN)], "light.a: brightness_pct is null; expected a number from 0 to 100"),
        // What a group leaves out for a leaf is an error where the leaf is meant itself.
        (
            vec![action("light.plain", Verb::TurnOn).with(Arg::BrightnessPct, ArgValue::Number(40.0))],
            "light.plain: unknown argument \"brightness_pct\"; allowed: ",
        ),
        (vec![action("light.looks", Verb::TurnOn)], "light.looks cannot turn_on; it can only be read"),
        (vec![action("light.mute", Verb::TurnOn)], "light.mute has no way to receive commands"),
        (
            vec![action("light.evil", Verb::TurnOn)],
            "light.evil would be sent to topic \"zigbee2mqtt/bridge/request/permit_join\", which is refused: it administers \
             a bridge",
        ),
        (
            vec![action("lock.front", Verb::Lock), action("lock.front", Verb::Unlock)],
            "lock.front is to lock and to unlock; say which",
        ),
    ] {
        assert_eq!(plan(&actions).unwrap_err().to_string(), says);
    }
    let no_secret = plan_with(&house(), "", "p1", &[action("alarm_control_panel.home", Verb::Disarm)]);
    assert_eq!(no_secret, Err(PlanError::NoSecret("panel".into())));
}

#[test]
fn the_hash_covers_bytes_policy_devices_and_secrets() {
    let disarm = [action("alarm_control_panel.home", Verb::Disarm)];
    let made = plan(&disarm).unwrap();
    assert_eq!(made.hash().len(), 64);
    assert_eq!(made, plan(&disarm).unwrap(), "the same plan has the same bytes");
    assert!(made.json().contains("${secret:panel}") && !made.json().contains("1234"));
    let mut renamed = house();
    let mut panel = entity("alarm_control_panel.home", &[Verb::ArmAway, Verb::Disarm], &[]);
    panel.device_class = Some("other".into());
    renamed.insert(panel);
    for other in [
        plan_with(&house(), "v2", "p1", &disarm),
        plan_with(&house(), "v1", "p2", &disarm),
        plan_with(&renamed, "v1", "p1", &disarm),
        plan(&[action("alarm_control_panel.home", Verb::ArmAway)]),
    ] {
        assert_ne!(other.unwrap().hash(), made.hash());
    }
}

#[test]
fn a_stored_plan_that_was_touched_is_none() {
    let made = plan(&[action("lock.front", Verb::Lock)]).unwrap();
    let restore =
        |json: &str, policy: &str, device: &str, hash: &str| Plan::restore(json, policy, device, hash);
    let (json, policy, device, hash) = (made.json(), made.policy_version(), made.device_hash(), made.hash());
    assert_eq!(restore(json, policy, device, hash).as_ref(), Some(&made));
    assert_eq!(restore(&json.replace("lock", "unlock"), policy, device, hash), None);
    assert_eq!(restore(&format!("{json} "), policy, device, hash), None);
    assert_eq!(restore(json, "p2", device, hash), None);
    assert_eq!(restore(json, policy, "", hash), None);
    assert_eq!(restore(json, policy, device, &hash.replace(['a', 'b', 'c'], "d")), None);
    // Moving bytes from one part to the next gives another hash.
    assert_eq!(restore(json, &format!("{policy}{device}"), "", hash), None);
}

#[test]
fn two_hundred_actions_are_the_most() {
    let mut house = house();
    let ids: Vec<String> = (0..=LEAVES).map(|number| format!("light.n{number}")).collect();
    for id in &ids {
        house.insert(entity(id, &[Verb::TurnOn], &[]));
    }
    let actions: Vec<Action> = ids.iter().map(|id| action(id, Verb::TurnOn)).collect();
    let made = plan_with(&house, "v1", "p1", &actions[..LEAVES]);
    assert_eq!(made.unwrap().leaves().len(), LEAVES);
    assert_eq!(plan_with(&house, "v1", "p1", &actions), Err(PlanError::TooMany(LEAVES + 1)));
}

/// Has a secret, and perhaps gives it to every entity as its code.
struct Given(Option<&'static str>);

impl Secrets for Given {
    fn secret(&self, _name: &str) -> Option<Secret> {
        Some(Secret { value: SecretString::from("1234"), version: "v1".to_owned() })
    }

    fn code_of(&self, _entity: &EntityId) -> Option<String> {
        self.0.map(str::to_owned)
    }
}

/// An announcement that names a secret gets it only where the home file gives this very one to the entity.
#[test]
fn an_announcement_names_no_secret_by_itself() {
    let containment = Containment::default();
    for (source, given, may) in [
        (HOME_FILE, None, true),
        (HOME_FILE, Some("other"), true),
        ("homeassistant/alarm_control_panel/home/config", None, false),
        ("homeassistant/alarm_control_panel/home/config", Some("other"), false),
        ("homeassistant/alarm_control_panel/home/config", Some("panel"), true),
    ] {
        let mut house = house();
        let id = "alarm_control_panel.home";
        let announced = Entity { source: source.into(), ..entity(id, &[Verb::Disarm], &[]) };
        house.insert(announced);
        let maker = Maker {
            house: &house,
            codecs: &All,
            secrets: &Given(given),
            containment: &containment,
            policy_version: "p1",
        };
        let made = maker.plan(&[action(id, Verb::Disarm)]).map(|_| ());
        let refused =
            PlanError::SecretOfAnother { entity: EntityId::parse(id).unwrap(), name: "panel".into() };
        assert_eq!(made, if may { Ok(()) } else { Err(refused) }, "{source} {given:?}");
    }
}

#[test]
fn a_registry_speaks_for_what_it_holds() {
    let registry = crate::devices::registry::Registry::new(crate::home::SharedHouse::new(house()));
    let lamp = EntityId::parse("light.a").unwrap();
    assert!(Codecs::codec(&registry, &lamp).is_none());
    registry.insert(lamp.clone(), Arc::new(Plain), Arc::new(Nowhere) as Arc<dyn Port>);
    let (_, port) = Codecs::codec(&registry, &lamp).unwrap();
    assert!(!port.is_up());
}

#[test]
fn the_same_action_twice_is_one() {
    let twice = [action("light.a", Verb::TurnOn), action("light.all", Verb::TurnOn)];
    let ids: Vec<String> = plan(&twice).unwrap().actions().iter().map(|one| one.entity.to_string()).collect();
    assert_eq!(ids, ["light.a", "light.plain"]);
}

/// The place of the code goes into the message, and nowhere else.
#[test]
fn an_entity_with_a_code_is_given_its_place() {
    let (house, containment) = (house(), Containment::default());
    let maker = Maker {
        house: &house,
        codecs: &All,
        secrets: &Given(Some("panel")),
        containment: &containment,
        policy_version: "p1",
    };
    let made = maker.plan(&[action("alarm_control_panel.home", Verb::ArmAway)]).unwrap();
    let leaf = &made.leaves()[0];
    assert!(leaf.messages[0].payload.contains("{\"code\":\"${secret:panel}\"}"), "{leaf:?}");
    assert!(leaf.action.args.is_empty(), "{leaf:?}");
    assert_eq!(leaf.secrets.get("panel").map(String::as_str), Some("v1"));
}
