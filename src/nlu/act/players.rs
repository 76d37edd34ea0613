//! Media players.

use super::{Fault, Plan, Planned};
use crate::home::{Arg, Verb, attr};
use crate::nlu::amount::Amount;
use crate::nlu::clause::Np;
use crate::nlu::vocabulary::{Attribute, Class, Pred};

/// What a player does for a verb without a value: the first of these that it has.
const VERBS: &[(&[Pred], &[Verb])] = &[
    (&[Pred::On, Pred::OnOrOpen], &[Verb::TurnOn, Verb::Play]),
    (&[Pred::Off, Pred::OffOrClose, Pred::Close], &[Verb::TurnOff, Verb::Stop, Verb::Pause]),
    (&[Pred::Play, Pred::Resume, Pred::Start], &[Verb::Play, Verb::TurnOn]),
    (&[Pred::Pause], &[Verb::Pause]),
    (&[Pred::Stop, Pred::Cancel], &[Verb::Stop, Verb::Pause]),
    (&[Pred::Next], &[Verb::NextTrack]),
    (&[Pred::Previous], &[Verb::PreviousTrack]),
    (&[Pred::Mute], &[Verb::Mute]),
    (&[Pred::Unmute], &[Verb::Unmute]),
];

impl Plan<'_> {
    pub(super) fn media(&self) -> Planned {
        let pred = self.frame.pred;
        if matches!(pred, Pred::Louder | Pred::Quieter | Pred::Raise | Pred::Lower | Pred::Set) {
            return self.volume();
        }
        if self.frame.sets() {
            return Err(Fault::Unsupported);
        }
        if pred == Pred::Toggle {
            return self.toggled(Verb::TurnOn, Verb::TurnOff);
        }
        // "Stop the music" means this song, not the player: it can go on where it was.
        if matches!(pred, Pred::Stop | Pred::Cancel) && self.frame.nps.iter().any(is_music) {
            return self.verb(&[Verb::Pause, Verb::Stop]);
        }
        let verbs = VERBS.iter().find(|(preds, _)| preds.contains(&pred)).map(|(_, verbs)| *verbs);
        self.verb(verbs.ok_or(Fault::Unsupported)?)
    }

    fn volume(&self) -> Planned {
        // "To channel 5" is no volume.
        if !matches!(self.frame.attribute, None | Some(Attribute::Volume)) {
            return Err(Fault::Unsupported);
        }
        let amount = self.frame.amount.ok_or(Fault::Unsupported)?;
        if let Amount::Step { up, .. } = amount
            && self.entity.action(Verb::VolumeUp).is_some()
        {
            return self.verb(&[if up { Verb::VolumeUp } else { Verb::VolumeDown }]);
        }
        let now = self.attribute(attr::VOLUME_LEVEL).map(|level| (level * 100.0).round());
        let range = self.range(Verb::SetVolume, Arg::VolumePct)?;
        // The least that can be heard; silence has a word of its own.
        let target = match amount {
            Amount::Min => range.0.max(1.0),
            amount => self.target(amount, now, range, 10.0)?,
        };
        self.number(Verb::SetVolume, Arg::VolumePct, target)
    }
}

/// "The music", and not "the playback on the soundbar".
fn is_music(np: &Np) -> bool {
    np.has_class(Class::Music)
        && np
            .nouns
            .iter()
            .all(|noun| !noun.names_entity() && (noun.parts.is_empty() || !noun.classes.is_empty()))
}
