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
        let pred = frame.pred;
        let verbs: &[Verb] = if matches!(pred, Pred::Disarm | Pred::Off | Pred::OffOrClose) {
            &[Verb::Disarm]
        } else if pred == Pred::ArmVacation {
            &[Verb::ArmVacation]
        } else if pred == Pred::ArmNight {
            &[Verb::ArmNight]
        } else if pred == Pred::ArmHome || frame.mode == Some(Mode::Home) {
            &[Verb::ArmHome]
        } else if frame.mode == Some(Mode::Sleep) {
            &[Verb::ArmNight, Verb::ArmHome]
        } else {
            &[Verb::ArmAway, Verb::ArmHome]
        };
        self.verb(verbs)
    }

    /// Vacuums and mowers.
    pub(super) fn robot(&self) -> Planned {
        self.takes_nothing()?;
        let pred = self.frame.pred;
        let vacuum = self.entity.domain() == Domain::Vacuum;
        let off = matches!(pred, Pred::Off | Pred::OffOrClose);
        if pred == Pred::Pause {
            return self.verb(&[Verb::Pause]);
        }
        if !vacuum {
            let home = off || matches!(pred, Pred::Dock | Pred::Stop | Pred::Cancel);
            return self.verb(&[if home { Verb::Dock } else { Verb::StartMowing }]);
        }
        // Work that is called off ends at home.
        let verbs: &[Verb] = if matches!(pred, Pred::Dock | Pred::Cancel) {
            &[Verb::ReturnToBase, Verb::Stop]
        } else if pred == Pred::Stop {
            &[Verb::Stop, Verb::ReturnToBase, Verb::Pause]
        } else if pred == Pred::Locate {
            &[Verb::Locate]
        } else if off {
            &[Verb::ReturnToBase, Verb::Stop]
        } else {
            &[Verb::Start]
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
