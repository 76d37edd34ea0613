//! Things whose verbs take no arguments: locks, alarms, robots, switches.

use super::{Fault, Plan, Planned};
use crate::home::{Domain, Verb};
use crate::nlu::vocabulary::{Mode, Pred};

impl Plan<'_> {
    /// A value that such a thing cannot take.
    fn takes_nothing(&self) -> Result<(), Fault> {
        if self.frame.sets() { Err(Fault::Unsupported) } else { Ok(()) }
    }

    pub(super) fn lock(&self) -> Planned {
        self.takes_nothing()?;
        let locks = matches!(self.frame.pred, Pred::Lock | Pred::Close | Pred::OffOrClose);
        self.verb(&[if locks { Verb::Lock } else { Verb::Unlock }])
    }

    pub(super) fn alarm(&self) -> Planned {
        let frame = self.frame;
        if frame.amount.is_some() || frame.color.is_some() || frame.white.is_some() {
            return Err(Fault::Unsupported);
        }
        let mode = match frame.pred {
            Pred::Disarm | Pred::Off | Pred::OffOrClose => return self.verb(&[Verb::Disarm]),
            Pred::ArmHome => Some(Mode::Home),
            Pred::ArmNight => Some(Mode::Sleep),
            Pred::ArmVacation => return self.verb(&[Verb::ArmVacation]),
            _ => frame.mode,
        };
        match mode {
            Some(Mode::Home) => self.verb(&[Verb::ArmHome]),
            Some(Mode::Sleep) if frame.pred == Pred::ArmNight => self.verb(&[Verb::ArmNight]),
            Some(Mode::Sleep) => self.verb(&[Verb::ArmNight, Verb::ArmHome]),
            Some(_) | None => self.verb(&[Verb::ArmAway, Verb::ArmHome]),
        }
    }

    /// Vacuums and mowers.
    pub(super) fn robot(&self) -> Planned {
        self.takes_nothing()?;
        let pred = self.frame.pred;
        let vacuum = self.entity.domain() == Domain::Vacuum;
        let off = matches!(pred, Pred::Off | Pred::OffOrClose);
        let verbs: &[Verb] = match (pred, vacuum) {
            (Pred::Pause, _) => &[Verb::Pause],
            (Pred::Dock, true) => &[Verb::ReturnToBase],
            (Pred::Stop, true) => &[Verb::Stop, Verb::ReturnToBase, Verb::Pause],
            (Pred::Locate, true) => &[Verb::Locate],
            (_, true) if off => &[Verb::ReturnToBase, Verb::Stop],
            (_, true) => &[Verb::Start],
            (Pred::Dock | Pred::Stop, false) => &[Verb::Dock],
            (_, false) if off => &[Verb::Dock],
            (_, false) => &[Verb::StartMowing],
        };
        self.verb(verbs)
    }

    /// Switches, sirens, cameras.
    pub(super) fn switch(&self) -> Planned {
        self.takes_nothing()?;
        let pred = self.frame.pred;
        if pred == Pred::Toggle {
            return self.toggled(Verb::TurnOn, Verb::TurnOff);
        }
        let off = matches!(pred, Pred::Off | Pred::OffOrClose | Pred::Stop | Pred::Close);
        self.verb(&[if off { Verb::TurnOff } else { Verb::TurnOn }])
    }
}
