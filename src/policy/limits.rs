//! Limits that no approval lifts: refusals with their range, ceilings for one command, and times between commands.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tier::{closes, may_trap, opens};
use crate::home::{Action, Arg, Domain, Entity, Verb};

/// The hard limits and ceilings. Their defaults are what the policy file starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Lowest and highest target of a climate entity, in °C.
    pub climate_min: f64,
    pub climate_max: f64,
    /// A climate entity is not turned off while it is colder than this outside, in °C.
    pub frost: f64,
    /// The sensor that says how cold it is outside. Without it the frost limit cannot be checked.
    pub outdoor_sensor: Option<String>,
    /// Highest target of a water heater, in °C.
    pub water_heater_max: f64,
    /// Writes of one command that need nobody; more need an approval of the full list.
    pub writes_free: usize,
    /// Writes of one command that can be approved; more are refused.
    pub writes_max: usize,
    /// Writes of one command to one entity.
    pub writes_per_entity: usize,
    /// Leaves of one plan that need approval by themselves: more cannot be shown in full to a person.
    pub gated_targets: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            climate_min: 10.0,
            climate_max: 28.0,
            frost: 3.0,
            outdoor_sensor: None,
            water_heater_max: 65.0,
            writes_free: 25,
            writes_max: 100,
            writes_per_entity: 4,
            gated_targets: 10,
        }
    }
}

/// Why an action is refused whatever anybody says; the text says what would be right.
pub fn refusal(action: &Action, domain: Domain, limits: &Limits, outside: Option<f64>) -> Option<String> {
    let (min, max) = if domain == Domain::Climate {
        (limits.climate_min, limits.climate_max)
    } else if domain == Domain::WaterHeater {
        (f64::NEG_INFINITY, limits.water_heater_max)
    } else {
        return None;
    };
    for arg in [Arg::Temperature, Arg::TargetTempLow, Arg::TargetTempHigh] {
        let Some(value) = action.args.get(&arg) else { continue };
        if !value.as_number().is_some_and(|celsius| celsius >= min && celsius <= max) {
            let given = value.as_number().map_or_else(|| "?".to_owned(), |celsius| celsius.to_string());
            return Some(if min.is_finite() {
                format!("{arg} {given} °C is outside {min} to {max} °C")
            } else {
                format!("{arg} {given} °C is above {max} °C")
            });
        }
    }
    match outside {
        Some(outside) if domain == Domain::Climate && turns_off(action) && outside < limits.frost => {
            Some(format!("it is {outside} °C outside; below {} °C heating is not turned off", limits.frost))
        }
        Some(_) | None => None,
    }
}

/// Turns a climate entity off, by its verb or by its mode. A mode may come with a temperature as well.
fn turns_off(action: &Action) -> bool {
    action.verb == Verb::TurnOff || mode(action).is_some_and(|mode| mode.eq_ignore_ascii_case("off"))
}

fn mode(action: &Action) -> Option<&str> {
    action.args.get(&Arg::HvacMode).and_then(|mode| mode.as_text())
}

/// Whether an action counts towards the writes of its command. Turning lights, media and fans off and closing
/// curtains does not: "everything off" must work in a big house.
pub fn counts(action: &Action) -> bool {
    let domain = action.entity.domain();
    let darkens =
        matches!(domain, Domain::Light | Domain::MediaPlayer | Domain::Fan) && action.verb == Verb::TurnOff;
    let shuts = domain == Domain::Cover && closes(action);
    !(darkens || shuts)
}

/// The direction of a motor or compressor command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Opens, or turns on.
    Forth,
    /// Closes, or turns off.
    Back,
    Stop,
}

/// Which way a motor or compressor is to go; `None` for everything else.
pub fn direction(action: &Action) -> Option<Direction> {
    let domain = action.entity.domain();
    if matches!(domain, Domain::Cover | Domain::Valve) {
        if matches!(action.verb, Verb::Stop | Verb::StopTilt) {
            return Some(Direction::Stop);
        }
        let shut = closes(action).then_some(Direction::Back);
        return if opens(action) { Some(Direction::Forth) } else { shut };
    }
    let switches = matches!(action.verb, Verb::TurnOn | Verb::TurnOff | Verb::SetHvacMode);
    if domain == Domain::Climate && (switches || mode(action).is_some()) {
        return Some(if turns_off(action) { Direction::Back } else { Direction::Forth });
    }
    None
}

/// What to do about a command that follows `elapsed` after one in direction `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Now,
    /// Short enough to be waited for.
    Wait(Duration),
    /// Too long to be waited for: not sent, and said so.
    TooSoon(Duration),
}

const MOTOR_GAP: Duration = Duration::from_secs(2);
const COMPRESSOR_GAP: Duration = Duration::from_secs(180);
const HEAVY_CLOSE_GAP: Duration = Duration::from_secs(60);

/// What an entity was told before, and how long ago.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// The last command with a direction.
    pub last: Option<(Direction, Duration)>,
    /// The last command to close, whatever came after it.
    pub closed: Option<Duration>,
}

/// Motors rest 2 s between opposite commands, compressors 3 minutes; what may trap somebody (a garage door, gate or
/// door, and a cover whose class is unknown) closes at most once a minute. A stop never waits.
pub fn pace(action: &Action, entity: &Entity, told: Told) -> Pace {
    let Some(now) = direction(action) else { return Pace::Now };
    let left = |gap: Duration, elapsed: Duration| gap.checked_sub(elapsed).filter(|left| !left.is_zero());
    if now == Direction::Back
        && may_trap(entity)
        && let Some(rest) = told.closed.and_then(|elapsed| left(HEAVY_CLOSE_GAP, elapsed))
    {
        return Pace::TooSoon(rest);
    }
    let Some((before, elapsed)) = told.last else { return Pace::Now };
    if now == before || now == Direction::Stop || before == Direction::Stop {
        return Pace::Now;
    }
    if entity.domain() == Domain::Climate {
        left(COMPRESSOR_GAP, elapsed).map_or(Pace::Now, Pace::TooSoon)
    } else {
        left(MOTOR_GAP, elapsed).map_or(Pace::Now, Pace::Wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::{ArgValue, EntityId};

    fn action(id: &str, verb: Verb, args: &[(Arg, ArgValue)]) -> Action {
        let mut action = Action::new(EntityId::parse(id).unwrap(), verb);
        action.args.extend(args.iter().cloned());
        action
    }

    #[test]
    fn temperatures_outside_the_limits_are_refused_with_the_range() {
        let limits = Limits::default();
        let set =
            |id: &str, arg, celsius| action(id, Verb::SetTemperature, &[(arg, ArgValue::Number(celsius))]);
        for (action, says) in [
            (set("climate.a", Arg::Temperature, 10.0), None),
            (set("climate.a", Arg::Temperature, 28.0), None),
            (set("climate.a", Arg::Temperature, 60.0), Some("temperature 60 °C is outside 10 to 28 °C")),
            (set("climate.a", Arg::Temperature, 9.9), Some("temperature 9.9 °C is outside 10 to 28 °C")),
            (
                set("climate.a", Arg::TargetTempHigh, 28.5),
                Some("target_temp_high 28.5 °C is outside 10 to 28 °C"),
            ),
            (set("climate.a", Arg::TargetTempLow, 5.0), Some("target_temp_low 5 °C is outside 10 to 28 °C")),
            (set("climate.a", Arg::Temperature, f64::NAN), Some("temperature NaN °C is outside 10 to 28 °C")),
            (set("water_heater.a", Arg::Temperature, 65.0), None),
            (set("water_heater.a", Arg::Temperature, 65.1), Some("temperature 65.1 °C is above 65 °C")),
            (set("number.a", Arg::Temperature, 300.0), None),
        ] {
            assert_eq!(refusal(&action, action.entity.domain(), &limits, None).as_deref(), says, "{action}");
        }
    }

    #[test]
    fn heating_stays_on_in_frost() {
        let limits = Limits::default();
        let off = action("climate.a", Verb::TurnOff, &[]);
        let mode = action("climate.a", Verb::SetHvacMode, &[(Arg::HvacMode, ArgValue::Text("off".into()))]);
        let heat = action("climate.a", Verb::SetHvacMode, &[(Arg::HvacMode, ArgValue::Text("heat".into()))]);
        let with = |mode: &str| {
            let args =
                [(Arg::Temperature, ArgValue::Number(20.0)), (Arg::HvacMode, ArgValue::Text(mode.into()))];
            action("climate.a", Verb::SetTemperature, &args)
        };
        let (off_with_degrees, heat_with_degrees) = (with("off"), with("heat"));
        for (action, outside, refused) in [
            (&off, Some(2.9), true),
            (&mode, Some(-10.0), true),
            (&off, Some(3.0), false),
            (&off, None, false),
            (&heat, Some(-10.0), false),
            (&off_with_degrees, Some(-10.0), true),
            (&heat_with_degrees, Some(-10.0), false),
        ] {
            assert_eq!(refusal(action, Domain::Climate, &limits, outside).is_some(), refused, "{action}");
        }
        assert_eq!(direction(&off_with_degrees), Some(Direction::Back));
        assert_eq!(direction(&heat_with_degrees), Some(Direction::Forth));
        assert_eq!(
            refusal(&action("light.a", Verb::TurnOff, &[]), Domain::Light, &limits, Some(-10.0)),
            None
        );
    }

    #[test]
    fn writes_that_darken_or_close_do_not_count() {
        for (id, verb, counted) in [
            ("light.a", Verb::TurnOff, false),
            ("light.a", Verb::TurnOn, true),
            ("media_player.a", Verb::TurnOff, false),
            ("fan.a", Verb::TurnOff, false),
            ("cover.a", Verb::Close, false),
            ("cover.a", Verb::Open, true),
            ("cover.a", Verb::SetPosition, true),
            ("switch.a", Verb::TurnOff, true),
            ("lock.a", Verb::Lock, true),
        ] {
            assert_eq!(counts(&action(id, verb, &[])), counted, "{id} {verb}");
        }
    }

    #[test]
    fn motors_and_compressors_rest() {
        use crate::home::Category;
        let entity = |id: &str, class: Option<&str>| Entity {
            id: EntityId::parse(id).unwrap(),
            name: String::new(),
            aliases: Vec::new(),
            area: None,
            device: None,
            device_class: class.map(str::to_owned),
            category: Category::Main,
            unit: None,
            actions: Vec::new(),
            members: Vec::new(),
            reports_state: true,
            source: String::new(),
        };
        let ms = Duration::from_millis;
        for (id, class, verb, before, elapsed, pace_is) in [
            ("cover.a", None, Verb::Open, Direction::Back, 500, Pace::Wait(ms(1500))),
            ("cover.a", None, Verb::Open, Direction::Back, 2000, Pace::Now),
            ("cover.a", None, Verb::Open, Direction::Forth, 0, Pace::Now),
            ("cover.a", None, Verb::Stop, Direction::Forth, 0, Pace::Now),
            ("cover.a", None, Verb::Close, Direction::Stop, 0, Pace::Now),
            ("cover.a", Some("shade"), Verb::Close, Direction::Back, 0, Pace::Now),
            ("cover.a", None, Verb::Close, Direction::Back, 59_000, Pace::TooSoon(ms(1000))),
            ("cover.a", Some("garage"), Verb::Close, Direction::Back, 59_000, Pace::TooSoon(ms(1000))),
            ("cover.a", Some("garage"), Verb::Close, Direction::Back, 60_000, Pace::Now),
            ("cover.a", Some("garage"), Verb::Open, Direction::Forth, 0, Pace::Now),
            ("cover.a", Some("curtain"), Verb::Close, Direction::Back, 0, Pace::Now),
            ("climate.a", None, Verb::TurnOn, Direction::Back, 179_000, Pace::TooSoon(ms(1000))),
            ("climate.a", None, Verb::TurnOn, Direction::Back, 180_000, Pace::Now),
            ("climate.a", None, Verb::SetTemperature, Direction::Back, 0, Pace::Now),
            ("light.a", None, Verb::TurnOn, Direction::Back, 0, Pace::Now),
        ] {
            let closed = (before == Direction::Back).then(|| ms(elapsed));
            let told = Told { last: Some((before, ms(elapsed))), closed };
            let got = pace(&action(id, verb, &[]), &entity(id, class), told);
            assert_eq!(got, pace_is, "{id} {class:?} {verb} {before:?} {elapsed}");
        }
        // A stop or a way back in between does not let it close again at once.
        let closed = Some(ms(30_000));
        for last in [Direction::Stop, Direction::Forth] {
            let told = Told { last: Some((last, ms(10_000))), closed };
            let garage = entity("cover.a", Some("garage"));
            assert_eq!(pace(&action("cover.a", Verb::Close, &[]), &garage, told), Pace::TooSoon(ms(30_000)));
            assert_eq!(pace(&action("cover.a", Verb::Stop, &[]), &garage, told), Pace::Now);
            let curtain = entity("cover.a", Some("curtain"));
            assert_eq!(pace(&action("cover.a", Verb::Close, &[]), &curtain, told), Pace::Now);
        }
        let never = Told::default();
        assert_eq!(
            pace(&action("cover.a", Verb::Close, &[]), &entity("cover.a", Some("garage")), never),
            Pace::Now
        );
    }
}
