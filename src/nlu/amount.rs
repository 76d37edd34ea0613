//! How much a clause says: a value, a change, a step, the most or the least.

use super::clause::Clause;
use super::number::Value;
use super::vocabulary::{Pred, Word};

/// How much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    To(Value),
    /// A signed change; percent points or degrees.
    By(f64),
    /// A step up or down, with its size.
    Step {
        up: bool,
        size: Size,
    },
    /// Half of what it is now.
    Half,
    Max,
    Min,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Little,
    Usual,
    Lot,
}

/// Whether a verb that compares goes up: "brighter" does, "lower" does not; `None` for all other verbs.
pub fn steps(pred: Pred) -> Option<bool> {
    let up = matches!(pred, Pred::Raise | Pred::Brighter | Pred::Louder | Pred::Warmer | Pred::Faster);
    let down = matches!(pred, Pred::Lower | Pred::Dimmer | Pred::Quieter | Pred::Colder | Pred::Slower);
    (up || down).then_some(up)
}

/// Up, down or neither.
fn direction(clause: &Clause, pred: Pred) -> Option<bool> {
    if let Some(up) = steps(pred) {
        return Some(up);
    }
    let set = pred == Pred::Set;
    if set && (clause.word(Word::Up) || clause.word(Word::More)) {
        return Some(true);
    }
    // "Close the blinds another 20 percent", "um ein Viertel runter"
    if clause.word(Word::More) || clause.word(Word::By) {
        if pred == Pred::Open {
            return Some(true);
        }
        if pred == Pred::Close {
            return Some(false);
        }
    }
    // "Open the blinds a little"
    if clause.word(Word::Little) && !clause.has_value() {
        if matches!(pred, Pred::Open | Pred::OnOrOpen) {
            return Some(true);
        }
        if matches!(pred, Pred::Close | Pred::OffOrClose | Pred::Off) {
            return Some(false);
        }
    }
    (set && clause.word(Word::Down)).then_some(false)
}

/// How much `clause` says for the verb `pred`; `None` where it says nothing of that.
pub fn amount(clause: &Clause, pred: Pred) -> Option<Amount> {
    let direction = direction(clause, pred);
    let value = clause.values.iter().rev().find(|value| !matches!(value, Value::Duration(_))).copied();
    if let Some(value) = value {
        let plain = match value {
            Value::Number(number)
            | Value::Percent(number)
            | Value::Celsius(number)
            | Value::Fahrenheit(number)
            | Value::Kelvin(number) => number,
            Value::Duration(_) => 0.0,
        };
        let relative = clause.word(Word::By) || (!clause.word(Word::To) && pred != Pred::Dimmer);
        return Some(match direction {
            Some(up) if relative => Amount::By(if up { plain } else { -plain }),
            Some(_) | None => Amount::To(value),
        });
    }
    if clause.word(Word::Halve) {
        return Some(Amount::Half);
    }
    if clause.word(Word::Max) {
        return Some(Amount::Max);
    }
    if clause.word(Word::Min) {
        return Some(Amount::Min);
    }
    if let Some(level) = clause.levels.last() {
        // "Lower the blinds a quarter"
        let moves = matches!(pred, Pred::Raise | Pred::Lower) && !clause.word(Word::To);
        let by = clause.word(Word::By) || clause.word(Word::More) || moves;
        return Some(match direction {
            // "Lower it by half": half of what it is now, and not fifty points.
            Some(false) if by && *level == 50 => Amount::Half,
            Some(up) if by => Amount::By(if up { f64::from(*level) } else { -f64::from(*level) }),
            Some(_) | None => Amount::To(Value::Percent(f64::from(*level))),
        });
    }
    let size = if clause.word(Word::Little) {
        Size::Little
    } else if clause.word(Word::Lot) {
        Size::Lot
    } else {
        Size::Usual
    };
    direction.map(|up| Amount::Step { up, size })
}
