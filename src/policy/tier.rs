//! The default tiers: one table over domain, device class, verb and names.
//!
//! Every row that matches counts and the highest tier wins, so the order of the rows means nothing and a new row can
//! only raise. What no row knows is [`Tier::Ask`]. Rules of the policy file stand in `rules`, refusals in `limits`.

use serde::{Deserialize, Serialize};

use super::risk_words::{Group, holds};
use crate::home::{Action, Arg, Category, Domain, Entity, State, Verb};

/// How dangerous an action is; larger is more dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// Reads only.
    #[serde(rename = "G0")]
    Read,
    /// Acts at once, inside the limits.
    #[serde(rename = "G1")]
    Act,
    /// One person's approval for one plan.
    #[serde(rename = "G2")]
    Ask,
    /// Not on any channel; only the local policy file can change that.
    #[serde(rename = "G3")]
    Never,
}

impl Tier {
    /// `G0` to `G3`.
    pub fn word(self) -> &'static str {
        match self {
            Tier::Read => "G0",
            Tier::Act => "G1",
            Tier::Ask => "G2",
            Tier::Never => "G3",
        }
    }
}

/// The table. A row reads: name, domains, verbs (none given: every verb), tier, why.
pub const TABLE: &[Row] = &[
    row("comfort", COMFORT, &[], Tier::Act, "can be undone at once"),
    row("lock.lock", &[Domain::Lock], &[Verb::Lock], Tier::Act, "the secure direction"),
    row("lock.unlock", &[Domain::Lock], &[Verb::Unlock, Verb::Open], Tier::Ask, "it lets people in"),
    row("alarm.arm", &[Domain::AlarmControlPanel], ARM, Tier::Act, "the secure direction; the panel decides"),
    row(
        "alarm.arm down",
        &[Domain::AlarmControlPanel],
        ARM,
        Tier::Ask,
        "it guards less than the present mode",
    )
    .when(When::GuardsLess),
    row(
        "alarm.bypass",
        &[Domain::AlarmControlPanel],
        &[Verb::ArmCustomBypass],
        Tier::Ask,
        "it leaves out zones",
    ),
    row("alarm.disarm", &[Domain::AlarmControlPanel], &[Verb::Disarm], Tier::Ask, "it ends the guard"),
    row("alarm.trigger", &[Domain::AlarmControlPanel], &[Verb::Trigger], Tier::Ask, "it calls people out"),
    row("cover.open entry", &[Domain::Cover], MOVE, Tier::Ask, "it lets people in")
        .class(Class::In(ENTRY))
        .when(When::Opens),
    row("cover.open unknown", &[Domain::Cover], MOVE, Tier::Ask, "its class is unknown; it may be an entry")
        .class(Class::NotIn(KNOWN_COVERS))
        .when(When::Opens),
    row("cover.close heavy", &[Domain::Cover], MOVE, Tier::Ask, "it may trap somebody")
        .class(Class::In(HEAVY))
        .when(When::Closes),
    row(
        "cover.close unknown",
        &[Domain::Cover],
        MOVE,
        Tier::Ask,
        "its class is unknown; it may trap somebody",
    )
    .class(Class::NotIn(KNOWN_COVERS))
    .when(When::Closes),
    row("cover.close window", &[Domain::Cover], MOVE, Tier::Act, "the secure direction")
        .class(Class::In(&["window"]))
        .when(When::Closes),
    row("cover shade", &[Domain::Cover], MOVE, Tier::Act, "can be undone at once").class(Class::In(SHADES)),
    row("cover.stop", &[Domain::Cover], &[Verb::Stop, Verb::StopTilt], Tier::Act, "stopping is safe"),
    row("valve.open gas", &[Domain::Valve], MOVE, Tier::Never, "gas: fire")
        .class(Class::In(&["gas"]))
        .when(When::Opens),
    row("valve.open water", &[Domain::Valve], MOVE, Tier::Ask, "it may flood")
        .class(Class::NotIn(&["gas", "irrigation"]))
        .when(When::Opens),
    row("valve.open irrigation", &[Domain::Valve], MOVE, Tier::Act, "it ends by itself within 30 minutes")
        .class(Class::In(&["irrigation"]))
        .when(When::OpensFor(IRRIGATION_S)),
    row("valve.close", &[Domain::Valve], MOVE, Tier::Act, "the safe direction").when(When::Closes),
    row("valve.stop", &[Domain::Valve], &[Verb::Stop], Tier::Act, "stopping is safe"),
    row("heat", HEATS, &[], Tier::Ask, "its name says that it burns or scorches: fire")
        .words(Group::Fire)
        .when(When::NotOff),
    row("siren", &[Domain::Siren], &[], Tier::Ask, "it harasses, or silences a warning"),
    row("climate", &[Domain::Climate], &[], Tier::Act, "comfort, inside the limits"),
    row("water_heater", &[Domain::WaterHeater], &[], Tier::Act, "comfort, inside the limits"),
    row(
        "water_heater hot",
        &[Domain::WaterHeater],
        &[Verb::SetTemperature],
        Tier::Ask,
        "it may scald above 55 °C",
    )
    .when(When::Hotter(SCALD_C)),
    row("camera.on", &[Domain::Camera], &[Verb::TurnOn], Tier::Act, "the secure direction"),
    row("camera.off", &[Domain::Camera], &[Verb::TurnOff], Tier::Ask, "it blinds the house"),
    row("generic", GENERIC, &[], Tier::Act, "nothing says that it is dangerous"),
    row("generic fire", GENERIC, &[], Tier::Ask, "its name says that it burns or scorches: fire")
        .words(Group::Fire)
        .when(When::NotOff),
    row("generic heat", GENERIC, &[], Tier::Ask, "its name says that it heats: fire")
        .words(Group::Heat)
        .when(When::NotOff),
    row("generic critical", GENERIC, &[], Tier::Ask, "its name says that something depends on it")
        .words(Group::Critical),
    row("generic entry", GENERIC, &[], Tier::Ask, "its name says that it is an entry or a guard")
        .words(Group::Entry),
    row("generic flow", GENERIC, &[], Tier::Ask, "its name says that it moves gas or water")
        .words(Group::Flow)
        .when(When::NotWatering),
    row("generic irrigation", GENERIC, &[], Tier::Ask, "its name says that it waters: it may flood")
        .words(Group::Irrigation)
        .when(When::NotOff),
    row("generic watch", GENERIC, &[], Tier::Ask, "its name says that it warns or watches")
        .words(Group::Watch),
    row("generic network", GENERIC, &[], Tier::Ask, "its name says that the home hangs on it")
        .words(Group::Network),
    row("administration", &[], &[], Tier::Never, "it administers devices, codes or firmware")
        .words(Group::Administration),
    row("category", &[], &[], Tier::Never, "it is a setting or a diagnosis of a device").when(When::Settings),
    row("update.install", &[Domain::Update], &[Verb::Install], Tier::Never, "it replaces firmware"),
    row("script", &[Domain::Script], &[], Tier::Ask, "what it does is unknown"),
    row("scene of home assistant", &[Domain::Scene], &[], Tier::Ask, "what it sets is unknown")
        .when(When::Foreign),
    row("notify", &[Domain::Notify], &[Verb::SendMessage], Tier::Act, "at most six a minute"),
    row("send_command", &[], &[Verb::SendCommand], Tier::Ask, "what the device makes of it is unknown"),
    row("mower.start", &[Domain::LawnMower], &[Verb::StartMowing], Tier::Ask, "blades"),
    row(
        "mower.stop",
        &[Domain::LawnMower],
        &[Verb::Dock, Verb::Pause, Verb::Stop],
        Tier::Act,
        "stopping is safe",
    ),
];

const COMFORT: &[Domain] =
    &[Domain::Light, Domain::Fan, Domain::MediaPlayer, Domain::Vacuum, Domain::Humidifier];
/// Things that a sauna, a fireplace or a kettle may be announced as. A radiator's thermostat is none of these.
const HEATS: &[Domain] = &[Domain::Climate, Domain::WaterHeater, Domain::Fan, Domain::Humidifier];
/// Things whose domain says nothing about what hangs on them.
const GENERIC: &[Domain] = &[
    Domain::Switch,
    Domain::Button,
    Domain::Number,
    Domain::Select,
    Domain::Text,
    Domain::Scene,
    Domain::Date,
    Domain::DateTime,
    Domain::Time,
    Domain::Timer,
    Domain::Todo,
];
/// Whether a domain says nothing about what hangs on its entities.
pub fn is_generic(domain: Domain) -> bool {
    GENERIC.contains(&domain)
}

const ARM: &[Verb] = &[Verb::ArmHome, Verb::ArmAway, Verb::ArmNight, Verb::ArmVacation];
const MOVE: &[Verb] =
    &[Verb::Open, Verb::Close, Verb::SetPosition, Verb::OpenTilt, Verb::CloseTilt, Verb::SetTiltPosition];
const ENTRY: &[&str] = &["garage", "gate", "door", "window"];
const HEAVY: &[&str] = &["garage", "gate", "door"];
const SHADES: &[&str] = &["blind", "curtain", "shade", "shutter", "awning"];
const KNOWN_COVERS: &[&str] =
    &["garage", "gate", "door", "window", "blind", "curtain", "shade", "shutter", "awning"];
/// Above this a water heater may scald, in °C.
const SCALD_C: f64 = 55.0;
/// Longest irrigation that needs nobody, in seconds.
const IRRIGATION_S: f64 = 1800.0;

/// One row of [`TABLE`].
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub name: &'static str,
    /// None given: every domain.
    domains: &'static [Domain],
    /// None given: every verb.
    verbs: &'static [Verb],
    class: Class,
    words: Option<Group>,
    when: When,
    pub tier: Tier,
    pub why: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Class {
    Any,
    In(&'static [&'static str]),
    /// Also entities without a class.
    NotIn(&'static [&'static str]),
}

#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    Opens,
    /// Opens, with a duration of at most so many seconds.
    OpensFor(f64),
    Closes,
    /// Does anything but turn off.
    NotOff,
    /// Does anything but turn off what waters: a pump that must run is not to be stopped, a sprinkler's is.
    NotWatering,
    /// Arms a mode that guards less than the present one.
    GuardsLess,
    /// Sets a temperature above so many °C.
    Hotter(f64),
    /// The entity is of category config or diagnostic.
    Settings,
    /// The entity lives in Home Assistant, which does not say what a scene sets.
    Foreign,
}

const fn row(
    name: &'static str,
    domains: &'static [Domain],
    verbs: &'static [Verb],
    tier: Tier,
    why: &'static str,
) -> Row {
    Row { name, domains, verbs, class: Class::Any, words: None, when: When::Always, tier, why }
}

impl Row {
    const fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    const fn words(mut self, words: Group) -> Self {
        self.words = Some(words);
        self
    }

    const fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }

    fn matches(&self, action: &Action, entity: &Entity, state: &State) -> bool {
        (self.domains.is_empty() || self.domains.contains(&entity.domain()))
            && (self.verbs.is_empty() || self.verbs.contains(&action.verb))
            && self.class.matches(entity.device_class.as_deref())
            && self.when.matches(action, entity, state)
            && self.words.is_none_or(|group| named(entity, group))
    }
}

impl Class {
    fn matches(self, class: Option<&str>) -> bool {
        match self {
            Class::Any => true,
            Class::In(classes) => class.is_some_and(|class| classes.contains(&class)),
            Class::NotIn(classes) => class.is_none_or(|class| !classes.contains(&class)),
        }
    }
}

impl When {
    fn matches(self, action: &Action, entity: &Entity, state: &State) -> bool {
        match self {
            When::Always => true,
            When::Opens => opens(action),
            When::OpensFor(limit) => {
                opens(action) && number(action, Arg::Duration).is_some_and(|s| s <= limit)
            }
            When::Closes => closes(action),
            When::NotOff => action.verb != Verb::TurnOff,
            When::NotWatering => action.verb != Verb::TurnOff || !named(entity, Group::Irrigation),
            When::GuardsLess => guards_less(action.verb, state.text()),
            When::Hotter(limit) => [Arg::Temperature, Arg::TargetTempHigh]
                .iter()
                .filter_map(|arg| action.args.get(arg))
                .any(|value| value.as_number().is_none_or(|celsius| celsius > limit)),
            When::Settings => entity.category != Category::Main,
            When::Foreign => entity.source == "hass",
        }
    }
}

/// The tier of one action, with the rows that gave it. No row: [`Tier::Ask`].
#[derive(Debug, Clone)]
pub struct Classified {
    pub tier: Tier,
    pub rows: Vec<&'static Row>,
}

/// Looks an action up in [`TABLE`].
pub fn classify(action: &Action, entity: &Entity, state: &State) -> Classified {
    let matching: Vec<&'static Row> = TABLE.iter().filter(|row| row.matches(action, entity, state)).collect();
    let tier = matching.iter().map(|row| row.tier).max().unwrap_or(Tier::Ask);
    Classified { tier, rows: matching.into_iter().filter(|row| row.tier == tier).collect() }
}

/// Whether a cover or valve is to be more open afterwards. A missing or odd position counts as opening.
pub(crate) fn opens(action: &Action) -> bool {
    let to = |arg| number(action, arg).is_none_or(|position| position > 0.0);
    matches!(action.verb, Verb::Open | Verb::OpenTilt)
        || (action.verb == Verb::SetPosition && to(Arg::Position))
        || (action.verb == Verb::SetTiltPosition && to(Arg::TiltPosition))
}

/// Whether a cover or valve is to be shut.
pub(crate) fn closes(action: &Action) -> bool {
    MOVE.contains(&action.verb) && !opens(action)
}

/// Whether an action makes the house safer, so that dropping it makes it less safe.
pub fn secures(action: &Action) -> bool {
    match action.entity.domain() {
        Domain::Lock => action.verb == Verb::Lock,
        Domain::AlarmControlPanel => ARM.contains(&action.verb) || action.verb == Verb::ArmCustomBypass,
        Domain::Cover | Domain::Valve => closes(action),
        _ => false,
    }
}

/// Whether a cover may trap somebody when it closes.
pub(crate) fn may_trap(entity: &Entity) -> bool {
    let class = entity.device_class.as_deref();
    entity.domain() == Domain::Cover
        && (Class::In(HEAVY).matches(class) || Class::NotIn(KNOWN_COVERS).matches(class))
}

fn number(action: &Action, arg: Arg) -> Option<f64> {
    action.args.get(&arg)?.as_number()
}

/// Whether arming by `verb` guards less than `present` does. A panel that is triggered, on its way to a mode that is
/// not known yet, or whose state is unknown may be guarded as well as can be.
fn guards_less(verb: Verb, present: Option<&str>) -> bool {
    let strength = |mode: &str| match mode {
        "armed_home" => 1,
        "armed_night" => 2,
        "disarmed" | "disarming" => 0,
        _ => 3,
    };
    let wished = [(Verb::ArmHome, 1), (Verb::ArmNight, 2), (Verb::ArmAway, 3), (Verb::ArmVacation, 3)];
    let wished = wished.iter().find(|(arm, _)| *arm == verb).map_or(3, |(_, strength)| *strength);
    wished < present.map_or(3, strength)
}

/// Whether any name of the entity or its device holds a word of `group`. Ids count too: they are names once given.
pub(super) fn named(entity: &Entity, group: Group) -> bool {
    let device = entity.device.as_ref().and_then(|device| device.name.as_deref());
    entity
        .all_names()
        .chain(device)
        .chain(std::iter::once(entity.id.object_id()))
        .any(|name| holds(name, group))
}

#[cfg(test)]
mod tests;
