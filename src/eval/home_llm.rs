//! The sentences of home-llm: expected service calls, questions about a state, and devices that are not there.
//!
//! Its homes have names and no states: everything begins half way, so that each service has something to do.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::color;
use super::home::{EntityFile, HomeFile};
use super::judge::{Seen, Verdict};
use crate::home::{Action, Arg, ArgValue, Domain, EntityId, House, Verb, attr};
use crate::nlu::{Intent, TimerChange};

/// A service call as the data has it; a question has a `query` alone.
#[derive(Debug, Clone, Deserialize)]
pub struct ServiceCall {
    #[serde(default)]
    pub service: Option<String>,
    #[serde(default)]
    pub entity: Option<String>,
    /// Instead of an entity: a device that only the sentence describes.
    #[serde(default)]
    pub device: Option<String>,
    #[serde(default)]
    pub query: Option<String>,
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// An entity that is asked about, with the state that it is in.
#[derive(Debug, Clone)]
pub struct Query {
    pub entity: String,
    pub state: Option<String>,
}

/// Our id for one of the data: `blinds` and `garage_door` are covers here.
pub fn our_id(id: &str) -> String {
    let (word, object) = id.split_once('.').unwrap_or((id, ""));
    match word {
        "blinds" | "garage_door" => format!("cover.{word}_{object}"),
        _ => id.to_owned(),
    }
}

/// The home with states and our ids.
pub fn furnished(home: &HomeFile) -> HomeFile {
    let mut home = home.clone();
    for entity in &mut home.entities {
        entity.id = entity.id.as_deref().map(our_id);
        ready(entity);
    }
    home
}

/// The home of a sentence that comes with none: what it describes, and nothing else.
pub fn described(calls: &[ServiceCall], input: &str) -> HomeFile {
    let entities = calls.iter().map(|call| thing(call, input)).collect();
    HomeFile { id: "described".into(), floors: vec![], areas: vec![], devices: vec![], entities }
}

fn ready(entity: &mut EntityFile) {
    let (state, attributes) = match entity.domain.as_deref().unwrap_or("") {
        "light" => ("on", json!({"color": true, "brightness": 128})),
        "fan" => ("on", json!({"percentage": 50})),
        "blinds" | "garage_door" => ("open", json!({"current_position": 50})),
        "media_player" => ("playing", json!({"volume_level": 0.5})),
        "lock" => ("locked", json!({})),
        "climate" => ("heat", json!({"temperature": 20, "current_temperature": 20})),
        "vacuum" => ("docked", json!({})),
        _ => ("on", json!({})),
    };
    if entity.state.is_null() {
        entity.state = json!(state);
    }
    if let Value::Object(map) = attributes {
        for (name, value) in map {
            entity.attributes.entry(name).or_insert(value);
        }
    }
}

/// The thing that a sentence of the kind "specific" has in mind.
fn thing(call: &ServiceCall, input: &str) -> EntityFile {
    let word = call.domain();
    let kind = match word {
        "blinds" => "blinds",
        "garage_door" => "garage door",
        "media_player" => "speaker",
        "switch" if input.contains("light") => "lights",
        other => other,
    };
    let device = call.device.as_deref().unwrap_or("").replace('_', " ");
    let mut entity = EntityFile {
        id: Some(our_id(&format!("{word}.{}", call.device.as_deref().unwrap_or("")))),
        name: if device.ends_with(kind) { device } else { format!("{device} {kind}") },
        domain: Some(word.to_owned()),
        area: None,
        device: None,
        state: Value::Null,
        attributes: Map::new(),
    };
    ready(&mut entity);
    entity
}

impl ServiceCall {
    fn domain(&self) -> &str {
        self.service.as_deref().and_then(|service| service.split('.').next()).unwrap_or("")
    }

    fn word(&self) -> &str {
        self.service.as_deref().and_then(|service| service.split('.').nth(1)).unwrap_or("")
    }

    /// The id in the house of what the call is for.
    pub fn target(&self, house: &House) -> Option<String> {
        let id = match (&self.entity, &self.device) {
            (Some(entity), _) => our_id(entity),
            (None, Some(device)) => our_id(&format!("{}.{device}", self.domain())),
            (None, None) => return None,
        };
        if house.entity(&id).is_some() {
            return Some(id);
        }
        // An id that is none for us was made from the name; of a described thing there is only one.
        let mut all = house.entities().map(|entity| entity.id.to_string());
        all.next().filter(|_| self.entity.is_none() && all.next().is_none())
    }

    /// Whether `action` is what the service does. A toggle is read from the state: either way counts.
    fn is_done_by(&self, action: &Action, before: &House) -> bool {
        let id = action.entity.as_str();
        let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
        let was = |name: &str| before.state(id).and_then(|state| state.attribute_number(name));
        let verbs: &[Verb] = match self.word() {
            "turn_on" => &[Verb::TurnOn, Verb::Activate],
            "turn_off" => &[Verb::TurnOff],
            "toggle" => &[Verb::TurnOn, Verb::TurnOff, Verb::Open, Verb::Close],
            "open_cover" => &[Verb::Open],
            "close_cover" => &[Verb::Close],
            "stop_cover" => &[Verb::Stop],
            "lock" => &[Verb::Lock],
            "unlock" => &[Verb::Unlock],
            "increase_speed" | "decrease_speed" => &[Verb::SetPercentage],
            "media_play" => &[Verb::Play],
            "media_pause" => &[Verb::Pause],
            "media_stop" => &[Verb::Stop, Verb::TurnOff],
            "media_next_track" => &[Verb::NextTrack],
            "media_previous_track" => &[Verb::PreviousTrack],
            "volume_up" => &[Verb::VolumeUp],
            "volume_down" => &[Verb::VolumeDown],
            "volume_mute" => &[Verb::Mute],
            "start" => &[Verb::Start],
            "stop" => &[Verb::Stop, Verb::ReturnToBase],
            "pause" => &[Verb::Pause],
            "return_to_base" => &[Verb::ReturnToBase],
            "set_temperature" => &[Verb::SetTemperature],
            "set_humidity" => &[Verb::SetHumidity],
            "set_hvac_mode" => &[Verb::SetHvacMode],
            "set_fan_mode" => &[Verb::SetFanMode],
            "set_preset_mode" => &[Verb::SetPresetMode],
            _ => &[],
        };
        let direction = match (self.word(), number(Arg::Percentage), was(attr::PERCENTAGE)) {
            ("increase_speed", Some(now), Some(was)) => now > was,
            ("decrease_speed", Some(now), Some(was)) => now < was,
            ("increase_speed" | "decrease_speed", _, _) => false,
            _ => true,
        };
        verbs.contains(&action.verb) && direction && self.args.iter().all(|arg| argument(arg, action))
    }
}

/// Whether an argument of the data is among those of `action`. The first element of "rgb_color" texts and of numbers
/// is compared as such, a colour by its hue.
fn argument((name, wanted): (&String, &Value), action: &Action) -> bool {
    let number = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_number);
    let same = |arg: Arg| match (number(arg), wanted.as_f64()) {
        (Some(got), Some(wanted)) => (got - wanted).abs() < 0.6,
        (Some(_), None) | (None, _) => false,
    };
    let text = |arg: Arg| action.args.get(&arg).and_then(ArgValue::as_text) == wanted.as_str();
    match name.as_str() {
        "brightness" => same(Arg::BrightnessPct),
        "temperature" => same(Arg::Temperature),
        "humidity" => same(Arg::Humidity),
        "hvac_mode" => text(Arg::HvacMode),
        "fan_mode" => text(Arg::FanMode),
        "preset_mode" => text(Arg::PresetMode),
        "color" => match (action.args.get(&Arg::RgbColor), wanted.as_str()) {
            (Some(ArgValue::Rgb(rgb)), Some(word)) => color::is(word, *rgb),
            (Some(_) | None, _) => false,
        },
        _ => false,
    }
}

/// Whether exactly the calls were made.
pub(super) fn judge_calls(calls: &[ServiceCall], seen: &Seen<'_>) -> Verdict {
    let timers = calls.iter().filter(|call| call.domain() == "timer");
    let devices: Vec<&ServiceCall> = calls.iter().filter(|call| call.domain() != "timer").collect();
    let arranged: Vec<&Intent> = seen.arranged().collect();
    let unfulfilled = timers
        .clone()
        .find(|call| !arranged.iter().any(|intent| timer(call, intent, seen.before)))
        .or_else(|| {
            devices.iter().copied().find(|call| {
                let target = call.target(seen.before);
                !seen.actions.iter().any(|action| {
                    target.as_deref() == Some(action.entity.as_str()) && call.is_done_by(action, seen.before)
                })
            })
        });
    let aims = |id: &str| devices.iter().any(|call| call.target(seen.before).as_deref() == Some(id));
    let stray = seen.actions.iter().find(|action| !aims(action.entity.as_str()));
    let unasked = arranged.len() > timers.count();
    match (unfulfilled, stray) {
        (_, Some(action)) => Verdict::Wrong(format!("{} {} was not asked", action.entity, action.verb)),
        (_, None) if unasked => Verdict::Wrong(format!("{arranged:?} was not asked")),
        (Some(call), None) => {
            let target = call.target(seen.before).unwrap_or_default();
            let why = format!(
                "{} of {target} with {} was not done; done: {:?}",
                call.service.as_deref().unwrap_or("?"),
                Value::Object(call.args.clone()),
                seen.actions
            );
            let other = seen.actions.iter().any(|action| action.entity.as_str() == target);
            if other { Verdict::Wrong(why) } else { Verdict::Missed(why) }
        }
        (None, None) if seen.actions.len() > devices.len() => {
            Verdict::Wrong(format!("more was done: {:?}", seen.actions))
        }
        (None, None) => Verdict::Passed,
    }
}

/// Whether a timer was started for as long, or cancelled, as the call wants.
fn timer(call: &ServiceCall, intent: &Intent, house: &House) -> bool {
    let name = call.target(house).and_then(|id| Some(house.entity(&id)?.name.to_lowercase()));
    let labelled = |label: Option<&String>| match (label, &name) {
        (Some(label), Some(name)) => {
            let label = label.to_lowercase();
            name.contains(&label) || label.contains(name.as_str())
        }
        (None, _) | (Some(_), None) => true,
    };
    match (call.word(), intent) {
        ("start", Intent::Timer(TimerChange::Start { seconds, label })) => {
            let wanted = call.args.get("duration").and_then(Value::as_str).map(clock);
            wanted.is_none_or(|wanted| wanted == Some(*seconds)) && labelled(label.as_ref())
        }
        ("cancel", Intent::Timer(TimerChange::Cancel(filter))) => labelled(filter.label.as_ref()),
        ("pause", Intent::Timer(TimerChange::Pause(filter))) => labelled(filter.label.as_ref()),
        _ => false,
    }
}

/// Seconds of `hh:mm:ss`.
fn clock(text: &str) -> Option<u64> {
    text.split(':').try_fold(0, |sum, part| Some(sum * 60 + part.parse::<u64>().ok()?))
}

/// Puts what is asked about into the state that the answer is about.
pub(super) fn prepare(queries: &[Query], house: &mut House, now: chrono::DateTime<chrono::Utc>) {
    for query in queries {
        if let (Ok(id), Some(state)) = (EntityId::parse(&our_id(&query.entity)), &query.state) {
            let attributes = match (id.domain(), state.as_str()) {
                (Domain::Cover, "closed") => Map::from_iter([(attr::CURRENT_POSITION.to_owned(), json!(0))]),
                _ => Map::new(),
            };
            super::home::set(house, &id, &json!(state), &attributes, now);
        }
    }
}

/// Whether the reply speaks of what was asked about, and of the state that it is in.
pub(super) fn judge_answer(queries: &[Query], seen: &Seen<'_>) -> Verdict {
    let reply = seen.reply.to_lowercase();
    let unanswered = queries.iter().find(|query| {
        let entity = seen.before.entity(&our_id(&query.entity));
        let named = entity.is_some_and(|entity| reply.contains(&entity.name.to_lowercase()));
        let told = query.state.as_ref().is_some_and(|state| reply.contains(&state.to_lowercase()));
        !named && !told
    });
    match unanswered {
        Some(query) => Verdict::Missed(format!("{:?} tells nothing of {}", seen.reply, query.entity)),
        None => Verdict::Passed,
    }
}
