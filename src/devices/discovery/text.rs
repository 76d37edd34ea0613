//! Text that can be set, and dates and times, which are text of a fixed form.

use chrono::TimeZone;
use chrono_tz::Tz;
use regex::Regex;

use super::entity_codec::{Built, Common, Component, EntityCodec, Outbox, Read, Undefined, View, bad};
use super::fields::{Command, Fields, Refusal};
use crate::devices::codec::{EncodeError, Fault};
use crate::home::{Action, ActionSpec, Arg, ArgKind, ArgSpec, ArgValue, State, Update, Verb};

/// What texts are legal.
enum Form {
    Text {
        min: usize,
        max: usize,
        pattern: Option<Regex>,
    },
    Date,
    Time,
    /// Times without an offset are of this zone; without one they are no times.
    DateTime(Option<Tz>),
}

struct Text {
    command: Command,
    form: Form,
    optimistic: bool,
}

pub(super) fn build(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let length = |key: &str, default: i64| -> Result<usize, Refusal> {
        Ok(usize::try_from(fields.int_or(key, default)?).unwrap_or(0))
    };
    let (min, max) = (length("min", 0)?, length("max", 255)?);
    if min > max || max > 255 {
        return Err(Refusal::Wrong {
            key: "min".into(),
            value: min.to_string(),
            expected: format!("at most {max}, and that at most 255"),
        });
    }
    let pattern = match fields.text("pattern")? {
        None => None,
        Some(pattern) => Some(Regex::new(&format!("^(?:{pattern})")).map_err(|_| Refusal::Wrong {
            key: "pattern".into(),
            value: pattern.clone(),
            expected: "a regular expression".into(),
        })?),
    };
    build_form(fields, common, Form::Text { min, max, pattern }, max)
}

pub(super) fn build_date(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    build_form(fields, common, Form::Date, 10)
}

pub(super) fn build_time(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    build_form(fields, common, Form::Time, 8)
}

pub(super) fn build_date_time(fields: Fields<'_>, common: Common) -> Result<Built, Refusal> {
    let zone = match fields.text("timezone")? {
        None => None,
        Some(name) => Some(name.parse().map_err(|_| Refusal::Wrong {
            key: "timezone".into(),
            value: name.clone(),
            expected: "a zone such as Europe/Berlin".into(),
        })?),
    };
    build_form(fields, common, Form::DateTime(zone), 40)
}

fn build_form(fields: Fields<'_>, common: Common, form: Form, max: usize) -> Result<Built, Refusal> {
    let read = Read::of(fields, "state_topic", "value_template", (), Undefined::Raw)?;
    let reports = read.is_some();
    let component = Text {
        command: fields.need_command("command_topic", "command_template")?,
        form,
        optimistic: !reports || fields.flag("optimistic", false)?,
    };
    let value = ArgSpec::required(Arg::Value, ArgKind::Text { max_chars: max });
    Ok(Built {
        codec: EntityCodec::shared(common, vec![read], component),
        actions: vec![ActionSpec::new(Verb::SetValue).with(value)],
        reports_state: reports,
        initial: Update::default(),
    })
}

impl Form {
    /// Why `text` is not legal, as what would be; `None` if it is.
    fn fault(&self, text: &str) -> Option<String> {
        match self {
            Form::Text { min, max, pattern } => {
                let length = text.chars().count();
                if length < *min || length > *max {
                    return Some(format!("{min} to {max} characters"));
                }
                let matches = pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
                (!matches).then(|| "text of the announced pattern".into())
            }
            Form::Date => {
                chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").err().map(|_| "YYYY-MM-DD".into())
            }
            Form::Time => {
                let fits = |form| chrono::NaiveTime::parse_from_str(text, form).is_ok();
                (!fits("%H:%M:%S") && !fits("%H:%M")).then(|| "HH:MM:SS or HH:MM".into())
            }
            Form::DateTime(zone) => moment(text, *zone).is_none().then(|| match zone {
                Some(zone) => format!("a time with its offset from UTC, or one of {zone} without"),
                None => "a time with its offset from UTC".into(),
            }),
        }
    }

    /// A legal text as it is shown: a time always with its offset.
    fn shown(&self, text: &str) -> String {
        match self {
            Form::DateTime(Some(zone)) if chrono::DateTime::parse_from_rfc3339(text).is_err() => {
                moment(text, Some(*zone)).map_or_else(|| text.to_owned(), |at| at.to_rfc3339())
            }
            Form::DateTime(_) | Form::Text { .. } | Form::Date | Form::Time => text.to_owned(),
        }
    }
}

/// A time with its offset from UTC, or one of `zone` without; where clocks are set back, the first of the two.
fn moment(text: &str, zone: Option<Tz>) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    if let Ok(at) = chrono::DateTime::parse_from_rfc3339(text) {
        return Some(at);
    }
    let naive = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
        .iter()
        .find_map(|form| chrono::NaiveDateTime::parse_from_str(text, form).ok())?;
    zone?.from_local_datetime(&naive).earliest().map(|at| at.fixed_offset())
}

impl Component for Text {
    type Field = ();

    fn apply(&self, (): (), text: &str, view: &mut View<'_, '_>) -> Result<(), Fault> {
        let dated = !matches!(self.form, Form::Text { .. });
        if dated && text == "None" {
            view.set_unknown();
            return Ok(());
        }
        if dated && text.is_empty() {
            return Ok(());
        }
        match self.form.fault(text) {
            Some(expected) => return Err(bad("state", text, expected)),
            None => view.set(self.form.shown(text)),
        }
        Ok(())
    }

    fn encode(&self, action: &Action, out: &mut Outbox<'_>) -> Result<(), EncodeError> {
        let (Verb::SetValue, Some(ArgValue::Text(text))) = (action.verb, action.args.get(&Arg::Value)) else {
            return Err(EncodeError::Unsupported(action.kind()));
        };
        if let Some(expected) = self.form.fault(text) {
            return Err(EncodeError::Argument(format!("value is not {expected}")));
        }
        out.send(&self.command, self.form.shown(text), &[])
    }

    fn assume(&self, action: &Action, _: &State) -> Update {
        match action.args.get(&Arg::Value) {
            Some(ArgValue::Text(text)) if self.optimistic => Update::value(self.form.shown(text)),
            _ => Update::default(),
        }
    }
}
