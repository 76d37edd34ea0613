//! Understanding commands without a model: a sentence and a house in, actions, an answer or an honest "no" out.
//!
//! ```text
//! text -> tokens -> spans (lexicon, names of the house, numbers, times) -> clauses -> frames -> targets -> actions
//! ```
//!
//! Words live in one data file per language (`data/*.toml`); the engine knows no language. Everything is pure and
//! synchronous: same text, house, dialogue and time give the same [`Understanding`].
//!
//! Three rules hold for every sentence. A word that nothing explains blocks every action of it. A place or a name
//! that the house does not have is refused, never widened. A question never acts.
//!
//! It does not send anything, decides nothing about policy (an unlock is understood here and gated elsewhere), and
//! keeps no state: the [`Dialogue`] belongs to the caller.

mod act;
mod amount;
mod answer;
mod asides;
mod asking;
mod cancel;
mod chosen;
mod clause;
mod collect;
mod command;
mod compound;
mod conversation;
mod describe;
mod dialogue;
mod exclusion;
mod frame;
mod free;
mod history;
mod index;
mod interpret;
mod kinds;
mod lattice;
mod leftovers;
mod lexicon;
mod lists;
mod nearest;
mod number;
mod occasion;
pub mod reply;
mod resolve;
mod scan;
mod scope;
mod separable;
mod sound;
mod statement;
mod template;
mod text;
mod time;
mod timer;
mod timing;
mod understand;
mod understanding;
mod vocabulary;
mod when;
mod which;

pub use dialogue::{Dialogue, Made, Pending};
pub use lexicon::{Lexicon, LexiconError};
pub use understand::{Nlu, Request};
pub use understanding::{
    Intent, ListChange, RefuseReason, ScheduleChoice, TimerChange, TimerFilter, Understanding, Weekdays, When,
};
pub use vocabulary::{Attribute, Class, Pred};

#[cfg(test)]
mod tests;
