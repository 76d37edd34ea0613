//! Whether a sentence is a question: it never acts.
//!
//! What it asks is `answer`'s; what only tells something is told apart in `statement`.

use super::lattice::Span;
use super::lexicon::{Lexicon, Sense};
use super::text::Token;
use super::vocabulary::{Pred, StateWord, Word};

/// Whether a row of spans is a question.
pub fn asks(row: &[Span], tokens: &[Token], lexicon: &Lexicon) -> bool {
    // 可以把书房灯关掉吗: a wish in the form of a question.
    let wish = row.iter().find(|span| !span.is_mark()).is_some_and(|span| span.word(Word::Modal))
        && row.iter().any(acts)
        && !row.iter().any(|span| is_question_word(span) || tells(span));
    if row.iter().any(|span| span.word(Word::Asks) && !span.is_mark()) {
        return !wish;
    }
    if lexicon.han_numbers { asks_in_chinese(row) } else { asks_first(row, tokens, lexicon) }
}

/// "Kitchen temperature", and nothing that says what it should be.
fn names_measurement(row: &[Span]) -> bool {
    use super::vocabulary::Attribute;
    let measured = |span: &Span| {
        span.sense(|sense| {
            matches!(
                sense,
                Sense::Attribute(
                    Attribute::Temperature
                        | Attribute::TargetTemperature
                        | Attribute::Humidity
                        | Attribute::Battery
                        | Attribute::Power
                        | Attribute::Energy
                        | Attribute::Illuminance
                        | Attribute::CarbonDioxide
                        | Attribute::AirQuality
                        | Attribute::Pressure
                ) | Sense::Class(super::vocabulary::Class::Weather)
            )
        })
    };
    let plain = |span: &Span| {
        measured(span)
            || span.is_mark()
            || !span.targets().is_empty()
            || !span.parts().is_empty()
            || span.sense(|sense| matches!(sense, Sense::Class(_)))
            || [Word::Filler, Word::Link, Word::Here, Word::House, Word::Outside, Word::Article, Word::Polite]
                .iter()
                .any(|word| span.word(*word))
    };
    row.iter().any(measured) && row.iter().all(plain)
}

fn is_question_word(span: &Span) -> bool {
    [Word::Which, Word::HowMany, Word::What, Word::Where, Word::Who, Word::HowLong]
        .into_iter()
        .any(|word| span.word(word))
}

fn tells(span: &Span) -> bool {
    span.sense(|sense| *sense == Sense::Pred(Pred::Tell))
}

/// A verb that does something, and does not only tell.
fn acts(span: &Span) -> bool {
    span.sense(|sense| matches!(sense, Sense::Pred(pred) if *pred != Pred::Tell))
}

/// Chinese asks with a word anywhere: 什么, 哪些, 几度.
fn asks_in_chinese(row: &[Span]) -> bool {
    let says = |span: &&Span| !span.is_mark() && !span.word(Word::Filler) && !span.word(Word::Polite);
    let acts = row.iter().any(acts);
    row.iter().any(is_question_word)
        || (!acts && (names_measurement(row) || states(row)))
        || row.iter().find(says).is_some_and(tells)
        || (!acts && row.iter().any(attribute_question))
}

/// "The kitchen light is on", 吊灯是开着的: that tells or asks; it is no wish.
fn states(row: &[Span]) -> bool {
    // "The light is still on": a word that only fills stands between.
    let fills = |span: &&Span| span.word(Word::Filler) && !span.is_state();
    row.iter().enumerate().any(|(at, is)| {
        is.word(Word::Is) && row.iter().skip(at + 1).find(|span| !fills(span)).is_some_and(Span::is_state)
    })
}

/// "The tv was turned off", "Robo is cleaning": the only verb stands behind "is", and tells what is so.
fn tells_what_is(row: &[Span]) -> bool {
    if row.iter().any(|span| span.word(Word::If) || span.word(Word::Unless)) {
        return false;
    }
    let told = row.iter().zip(row.iter().skip(1)).position(|(is, then)| is.word(Word::Is) && then.is_verb());
    told.is_some_and(|at| row.iter().take(at).any(names_something))
        && row.iter().filter(|span| span.is_verb()).count() == 1
}

/// Whether a verb stands besides what "is" joins: "the water is on" has none, though "water" and "on" may be verbs, and
/// "if the door is unlocked, lock it" has one.
fn wishes_beside_is(row: &[Span]) -> bool {
    let is = row.iter().position(|span| span.word(Word::Is)).unwrap_or_default();
    let joined = |at: usize, span: &Span| at == is + 1 || (at < is && names_something(span));
    row.iter().enumerate().any(|(at, span)| span.is_verb() && !joined(at, span))
}

/// A device, a part of its name, or a kind of device.
pub fn names_something(span: &Span) -> bool {
    !span.targets().is_empty()
        || !span.parts().is_empty()
        || span.sense(|sense| matches!(sense, Sense::Class(_)))
}

/// Western languages ask with the first word: a question word, or the verb.
fn asks_first(row: &[Span], tokens: &[Token], lexicon: &Lexicon) -> bool {
    let acts = row.iter().any(Span::is_verb);
    let status =
        |span: &Span| span.sense(|sense| *sense == Sense::Attribute(super::vocabulary::Attribute::Status));
    let weather = |span: &Span| span.sense(|sense| *sense == Sense::Class(super::vocabulary::Class::Weather));
    if !acts && (row.iter().any(|span| status(span) || weather(span)) || names_measurement(row)) {
        return true;
    }
    // "La porte est verrouillée ?"
    let marked = tokens.last().is_some_and(|token| token.text == "?");
    let says =
        row.iter().any(|span| span.sense(|sense| matches!(sense, Sense::State(_) | Sense::Attribute(_))));
    // "La porte est verrouillée ?", "and the kitchen one?": without a verb nothing is asked to be done.
    let polite = row.iter().any(|span| span.word(Word::Polite));
    // "Can the lamp be blue?"
    let valued = |span: &Span| {
        span.value().is_some()
            || span.sense(|sense| matches!(sense, Sense::Color(_) | Sense::White(_) | Sense::Level(_)))
    };
    let wished = polite && (row.iter().any(valued) || ends_in_a_state(row));
    if marked && !acts && !wished && (says || row.iter().any(|span| !span.targets().is_empty())) {
        return true;
    }
    if !polite && tells_what_is(row) {
        return true;
    }
    // "Als de achterdeur niet op slot is": a condition asks nothing.
    let stated = states(row) && !row.iter().any(|span| span.word(Word::If) || span.word(Word::Unless));
    // "Would you say the kitchen light is on"
    if stated && !acts && row.iter().any(names_something) {
        return true;
    }
    // "Les lampes sont allumées ?"
    if marked && stated && !polite {
        return true;
    }
    if !polite && stated && row.iter().any(names_something) && !wishes_beside_is(row) {
        return true;
    }
    if has_done(row) || (wished && ends_in_a_state(row)) || remarks(row) {
        return false;
    }
    begins_with_a_question(row, tokens, lexicon, marked)
}

/// Whether the first word that says something is a question word, or a verb that asks.
fn begins_with_a_question(row: &[Span], tokens: &[Token], lexicon: &Lexicon, marked: bool) -> bool {
    let unasked = |token: &Token| lexicon.unasked.contains(&token.text);
    if row.iter().any(Span::is_verb) && !marked && tokens.first().is_some_and(unasked) {
        return false;
    }
    let mut polite = false;
    for span in row {
        if span.word(Word::Polite) {
            polite = true;
            continue;
        }
        if span.is_mark() || (span.word(Word::And) && !is_question_word(span)) {
            continue;
        }
        let named = !span.targets().is_empty();
        // "Do turn off the tv"
        let next = row.iter().find(|next| next.start == span.end);
        let bare = |span: &Span| span.is_verb() && !span.word(Word::Past) && !span.is_state();
        if span.word(Word::Did) && !marked && next.is_some_and(bare) {
            return false;
        }
        let verb = span.word(Word::Is) || span.word(Word::Did);
        let how = span.end > span.start + 1
            && tokens.get(span.start).is_some_and(|token| lexicon.means(&token.key, Sense::Word(Word::What)))
            && span.sense(|sense| matches!(sense, Sense::Attribute(_)));
        if !named && (tells(span) || is_question_word(span) || (verb && !polite) || how) {
            return true;
        }
        // "Any windows open?"
        let any = span.word(Word::Any) && !span.word(Word::Article) && !polite;
        if attribute_question(span) || any {
            return true;
        }
        if !span.word(Word::Filler) {
            return false;
        }
    }
    false
}

/// "Kan het licht uit?": asked politely, a state at the end is a wish.
fn ends_in_a_state(row: &[Span]) -> bool {
    let last = row.iter().rfind(|span| !span.is_mark());
    let switched = [StateWord::On, StateWord::Off, StateWord::Open, StateWord::Closed];
    last.is_some_and(|span| {
        span.sense(|sense| matches!(sense, Sense::State(state) if switched.contains(state)))
    }) && !row.iter().any(|span| span.word(Word::Is) || span.word(Word::Did) || is_question_word(span))
}

/// "Het is veel te warm": somebody says how it is; "is it too warm" asks.
fn remarks(row: &[Span]) -> bool {
    let first = row.iter().find(|span| !span.is_mark());
    let asks =
        |span: &Span| span.word(Word::Is) || span.word(Word::Did) || is_question_word(span) || tells(span);
    row.iter().any(|span| span.sense(|sense| matches!(sense, Sense::Remark(_)))) && !first.is_some_and(asks)
}

/// "Have Robo clean the floor": somebody is to do it, and nothing is asked.
fn has_done(row: &[Span]) -> bool {
    let mut said = row.iter().filter(|span| !span.is_mark() && !span.word(Word::Polite));
    let has = |span: &Span| span.word(Word::Did) && span.sense(|sense| *sense == Sense::Pred(Pred::Set));
    let robot = |span: &Span| {
        let works = [
            Pred::Clean,
            Pred::Mow,
            Pred::Dock,
            Pred::Start,
            Pred::Stop,
            Pred::Pause,
            Pred::Resume,
            Pred::Cancel,
            Pred::Locate,
            Pred::Run,
        ];
        span.sense(|sense| matches!(sense, Sense::Pred(pred) if works.contains(pred)))
    };
    let valued = |span: &Span| {
        span.value().is_some()
            || span.sense(|sense| {
                matches!(sense, Sense::Color(_) | Sense::White(_) | Sense::Level(_) | Sense::Mode(_))
            })
    };
    said.next().is_some_and(has)
        && said.clone().any(|span| robot(span) || valued(span))
        && !said.any(|span| span.word(Word::Is) || span.sense(|sense| matches!(sense, Sense::State(_))))
}

/// "status of …", "what time": questions by themselves.
fn attribute_question(span: &Span) -> bool {
    use super::vocabulary::Attribute;
    span.sense(|sense| {
        matches!(
            sense,
            Sense::Attribute(Attribute::Age | Attribute::Clock | Attribute::Date | Attribute::Status)
        )
    })
}
