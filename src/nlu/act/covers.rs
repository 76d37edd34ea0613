//! Covers and valves.

use super::{Fault, Plan, Planned, plain};
use crate::home::{Arg, Domain, Verb, attr};
use crate::nlu::amount::{Amount, Size};
use crate::nlu::vocabulary::{Attribute, Pred};

impl Plan<'_> {
    pub(super) fn cover(&self) -> Planned {
        let frame = self.frame;
        // "Lower the blinds" is all the way, "lower the blinds a bit" is not.
        let partly = |amount: &Amount| !matches!(amount, Amount::Step { size: Size::Usual | Size::Lot, .. });
        if let Some(amount) = frame.amount.filter(partly) {
            let tilt = frame.attribute == Some(Attribute::Tilt);
            let (verb, arg, name) = if tilt {
                (Verb::SetTiltPosition, Arg::TiltPosition, attr::CURRENT_TILT_POSITION)
            } else {
                (Verb::SetPosition, Arg::Position, attr::CURRENT_POSITION)
            };
            let range = match self.range(verb, arg) {
                Ok(range) => range,
                // What cannot stand half way can still be opened and closed fully.
                Err(fault) => {
                    return match amount {
                        Amount::To(value) if plain(value) == 100.0 => self.verb(&[Verb::Open]),
                        Amount::To(value) if plain(value) == 0.0 => self.verb(&[Verb::Close]),
                        Amount::Max => self.verb(&[Verb::Open]),
                        Amount::Min => self.verb(&[Verb::Close]),
                        Amount::To(_) | Amount::By(_) | Amount::Step { .. } | Amount::Half => Err(fault),
                    };
                }
            };
            let target = self.target(amount, self.attribute(name), range, 40.0)?;
            return self.number(verb, arg, target);
        }
        let pred = frame.pred;
        if matches!(pred, Pred::Open | Pred::OnOrOpen | Pred::On | Pred::Raise)
            || matches!(pred, Pred::Water | Pred::Start | Pred::Run)
        {
            return self.verb(&[Verb::Open]);
        }
        if matches!(pred, Pred::Close | Pred::OffOrClose | Pred::Off | Pred::Lower) {
            return self.verb(&[Verb::Close]);
        }
        // "Halt den Rollladen an": what moves and is paused stands. Water that is to stop is shut off.
        if matches!(pred, Pred::Stop | Pred::Pause) {
            let valve = self.entity.domain() == Domain::Valve;
            return self.verb(&[if valve { Verb::Close } else { Verb::Stop }]);
        }
        if pred == Pred::Toggle {
            return self.toggled(Verb::Open, Verb::Close);
        }
        Err(Fault::Unsupported)
    }
}
