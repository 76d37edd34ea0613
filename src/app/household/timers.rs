//! Kitchen timers by sentence: set, extend, pause, cancel, and how long is left.

use serde_json::{Value, json};

use super::{Keeper, duration, said};
use crate::nlu::{Lexicon, TimerChange, TimerFilter};
use crate::schedule::{NewTimer, Timer};
use crate::tools::HouseholdRequest;

impl Keeper {
    pub(super) async fn timer(
        &self,
        change: &TimerChange,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        match change {
            TimerChange::Start { seconds, label } => {
                let timer = NewTimer {
                    label: label.clone().unwrap_or_default(),
                    seconds: *seconds,
                    origin: json!({"principal": request.principal, "area": request.area, "language": request.language}),
                    conversation: request.conversation.clone().unwrap_or_default(),
                };
                let timer = self.scheduler.set_timer(timer).await.map_err(|error| error.to_string())?;
                let text = lexicon.say(
                    "timer_set",
                    &[("name", &timer_name(&timer, lexicon)), ("left", &duration(timer.seconds, lexicon))],
                );
                Ok(json!({"said": text, "timer": timer}))
            }
            TimerChange::Extend { timer, seconds } => self.extend(timer, signed(*seconds), lexicon).await,
            TimerChange::Shorten { timer, seconds } => self.extend(timer, -signed(*seconds), lexicon).await,
            TimerChange::Cancel(filter) => {
                let timer = self.one_timer(filter, lexicon, |_| true).await?;
                self.scheduler.cancel_timer(&timer.id).await.map_err(|error| error.to_string())?;
                Ok(said(lexicon.say("timer_cancelled", &[("name", &timer_name(&timer, lexicon))])))
            }
            TimerChange::CancelAll { area } => {
                let filter = TimerFilter { area: area.clone(), ..TimerFilter::default() };
                let timers = self.timers(&filter).await?;
                for timer in &timers {
                    self.scheduler.cancel_timer(&timer.id).await.map_err(|error| error.to_string())?;
                }
                let count = timers.len().to_string();
                Ok(said(lexicon.say("timers_cancelled", &[("count", &count)])))
            }
            TimerChange::Query(filter) => {
                let timers = self.timers(filter).await?;
                if timers.is_empty() {
                    return Ok(said(lexicon.say("no_timer", &[])));
                }
                let lines = timers.iter().map(|timer| how_long(timer, lexicon));
                Ok(
                    json!({"said": self.report.join(&request.language, &lines.collect::<Vec<_>>()), "timers": timers}),
                )
            }
            TimerChange::Pause(filter) => {
                let timer = self.one_timer(filter, lexicon, |timer| !timer.paused).await?;
                if timer.paused {
                    return Ok(said(how_long(&timer, lexicon)));
                }
                let timer = self.scheduler.pause_timer(&timer.id).await.map_err(|error| error.to_string())?;
                Ok(said(left_of("timer_paused", &timer, lexicon)))
            }
            TimerChange::Resume(filter) => {
                let timer = self.one_timer(filter, lexicon, |timer| timer.paused).await?;
                if !timer.paused {
                    return Ok(said(how_long(&timer, lexicon)));
                }
                let timer =
                    self.scheduler.resume_timer(&timer.id).await.map_err(|error| error.to_string())?;
                Ok(said(left_of("timer_resumed", &timer, lexicon)))
            }
        }
    }

    async fn extend(&self, filter: &TimerFilter, seconds: i64, lexicon: &Lexicon) -> Result<Value, String> {
        let timer = self.one_timer(filter, lexicon, |_| true).await?;
        let timer =
            self.scheduler.extend_timer(&timer.id, seconds).await.map_err(|error| error.to_string())?;
        Ok(said(how_long(&timer, lexicon)))
    }

    async fn timers(&self, filter: &TimerFilter) -> Result<Vec<Timer>, String> {
        let all = self.scheduler.timers().await.map_err(|error| error.to_string())?;
        let fits = |timer: &Timer| {
            filter.label.as_ref().is_none_or(|label| timer.label.eq_ignore_ascii_case(label))
                && filter.length.is_none_or(|length| timer.seconds == length)
                && filter.area.as_ref().is_none_or(|area| timer.origin["area"].as_str() == Some(area))
        };
        Ok(all.into_iter().filter(fits).collect())
    }

    /// The timer that is meant, of those that can be changed so where there are any; several that fit are a question.
    async fn one_timer(
        &self,
        filter: &TimerFilter,
        lexicon: &Lexicon,
        can: fn(&Timer) -> bool,
    ) -> Result<Timer, String> {
        let mut fits = self.timers(filter).await?;
        if fits.iter().any(can) {
            fits.retain(can);
        }
        match fits.len() {
            0 => Err(lexicon.say("no_timer", &[])),
            1 => fits.pop().ok_or_else(|| lexicon.say("no_timer", &[])),
            _ => {
                let names: Vec<String> = fits.iter().map(|timer| timer_name(timer, lexicon)).collect();
                Err(lexicon.say("which", &[("names", &names.join(lexicon.phrase("comma").unwrap_or(", ")))]))
            }
        }
    }
}

fn signed(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// How long is left of a timer, and whether it stands still.
fn how_long(timer: &Timer, lexicon: &Lexicon) -> String {
    left_of(if timer.paused { "timer_left_paused" } else { "timer_left" }, timer, lexicon)
}

fn left_of(reply: &str, timer: &Timer, lexicon: &Lexicon) -> String {
    let left = u64::try_from(timer.left_millis / 1000).unwrap_or(0);
    lexicon.say(reply, &[("name", &timer_name(timer, lexicon)), ("left", &duration(left, lexicon))])
}

fn timer_name(timer: &Timer, lexicon: &Lexicon) -> String {
    if timer.label.is_empty() {
        return lexicon.say("timer_of", &[("length", &duration(timer.seconds, lexicon))]);
    }
    lexicon.say("timer_named", &[("label", &timer.label)])
}
