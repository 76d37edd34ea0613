//! Which frames the things of a domain take at all.

use crate::home::Domain;
use crate::nlu::frame::Frame;
use crate::nlu::vocabulary::{Attribute, Mode, Pred};

/// On or off, in any words.
fn switches(pred: Pred) -> bool {
    matches!(pred, Pred::On | Pred::Off | Pred::OnOrOpen | Pred::OffOrClose)
}

/// Whether things of a domain take a frame at all; used to choose among things of the same name.
pub fn fits(frame: &Frame, domain: Domain) -> bool {
    let pred = frame.pred;
    let sets = frame.sets() && matches!(pred, Pred::Set | Pred::Raise | Pred::Lower);
    match domain {
        Domain::Light => {
            let moves = matches!(pred, Pred::Open | Pred::Close);
            switches(pred)
                || matches!(pred, Pred::Toggle | Pred::Brighter | Pred::Dimmer | Pred::Start | Pred::Activate)
                || matches!(pred, Pred::Warmer | Pred::Colder)
                // "Zachter" is said of lamps and fans too.
                || matches!(pred, Pred::Louder | Pred::Quieter)
                || ((sets || moves) && light_attribute(frame))
        }
        Domain::Switch | Domain::Siren | Domain::Camera => {
            switches(pred)
                || matches!(pred, Pred::Toggle | Pred::Start | Pred::Stop | Pred::Activate | Pred::Run)
        }
        Domain::Fan => {
            switches(pred)
                || sets
                || matches!(
                    pred,
                    Pred::Toggle
                        | Pred::Start
                        | Pred::Stop
                        | Pred::Activate
                        | Pred::Faster
                        | Pred::Slower
                        | Pred::Run
                        | Pred::Open
                        | Pred::Close
                )
                || (matches!(pred, Pred::Louder | Pred::Quieter) && !frame.remark)
        }
        Domain::Cover | Domain::Valve => cover(frame, domain),
        Domain::Lock => matches!(
            pred,
            Pred::Lock | Pred::Unlock | Pred::Open | Pred::Close | Pred::OnOrOpen | Pred::OffOrClose
        ),
        Domain::AlarmControlPanel => {
            let modes = matches!(frame.mode, Some(Mode::Home | Mode::Away | Mode::Sleep));
            switches(pred) || arms(pred) || (pred == Pred::Set && modes)
        }
        Domain::Climate | Domain::WaterHeater | Domain::Humidifier => {
            switches(pred)
                || sets
                || matches!(
                    pred,
                    Pred::Toggle
                        | Pred::Warmer
                        | Pred::Colder
                        | Pred::Start
                        | Pred::Stop
                        | Pred::Activate
                        | Pred::Open
                        | Pred::Close
                )
        }
        Domain::MediaPlayer => switches(pred) || sets || plays(pred),
        Domain::Vacuum => robot(pred) || matches!(pred, Pred::Clean | Pred::Locate),
        Domain::LawnMower => robot(pred) || pred == Pred::Mow,
        Domain::Scene => {
            matches!(pred, Pred::On | Pred::OnOrOpen | Pred::Activate | Pred::Start | Pred::Set)
                || matches!(pred, Pred::Run | Pred::Play)
        }
        Domain::Script => {
            matches!(pred, Pred::On | Pred::OnOrOpen | Pred::Activate | Pred::Start)
                || matches!(pred, Pred::Run | Pred::Play)
        }
        Domain::Button => matches!(pred, Pred::Press | Pred::Activate | Pred::Run),
        Domain::Number | Domain::Select => pred == Pred::Set && sets,
        Domain::BinarySensor
        | Domain::Date
        | Domain::DateTime
        | Domain::DeviceTracker
        | Domain::Event
        | Domain::Image
        | Domain::Notify
        | Domain::Person
        | Domain::Sensor
        | Domain::Tag
        | Domain::Text
        | Domain::Time
        | Domain::Timer
        | Domain::Todo
        | Domain::Update
        | Domain::Weather
        | Domain::Other => false,
    }
}

fn cover(frame: &Frame, domain: Domain) -> bool {
    let pred = frame.pred;
    switches(pred)
        || matches!(pred, Pred::Open | Pred::Close | Pred::Stop | Pred::Pause | Pred::Toggle)
        || matches!(pred, Pred::Raise | Pred::Lower)
        || (pred == Pred::Set && frame.sets())
        || (domain == Domain::Valve && matches!(pred, Pred::Water | Pred::Start | Pred::Run))
}

fn arms(pred: Pred) -> bool {
    matches!(
        pred,
        Pred::Arm
            | Pred::ArmHome
            | Pred::ArmAway
            | Pred::ArmNight
            | Pred::ArmVacation
            | Pred::Disarm
            | Pred::Activate
    )
}

fn plays(pred: Pred) -> bool {
    matches!(
        pred,
        Pred::Toggle
            | Pred::Play
            | Pred::Pause
            | Pred::Resume
            | Pred::Stop
            | Pred::Cancel
            | Pred::Next
            | Pred::Previous
            | Pred::Mute
            | Pred::Unmute
            | Pred::Louder
            | Pred::Quieter
            | Pred::Start
    )
}

fn robot(pred: Pred) -> bool {
    switches(pred)
        || matches!(
            pred,
            Pred::Start
                | Pred::Run
                | Pred::Resume
                | Pred::Stop
                | Pred::Cancel
                | Pred::Pause
                | Pred::Dock
                | Pred::Activate
        )
}

fn light_attribute(frame: &Frame) -> bool {
    matches!(
        frame.attribute,
        None | Some(
            Attribute::Brightness
                | Attribute::Color
                | Attribute::ColorTemperature
                | Attribute::Temperature
                | Attribute::Illuminance
                | Attribute::Mode
        )
    ) && !frame.degrees
        && (frame.attribute != Some(Attribute::Temperature) || frame.is_kelvin())
}
