//! Kitchen timers by sentence: set, extend, cancel, and how long is left.

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
            TimerChange::Extend { timer, seconds } => {
                self.extend(timer, signed(*seconds), request, lexicon).await
            }
            TimerChange::Shorten { timer, seconds } => {
                self.extend(timer, -signed(*seconds), request, lexicon).await
            }
            TimerChange::Cancel(filter) => {
                let timer = self.one_timer(filter, request, lexicon).await?;
                self.scheduler.cancel_timer(&timer.id).await.map_err(|error| error.to_string())?;
                Ok(said(lexicon.say("timer_cancelled", &[("name", &timer_name(&timer, lexicon))])))
            }
            TimerChange::CancelAll { area } => {
                let filter = TimerFilter { area: area.clone(), ..TimerFilter::default() };
                let timers = self.timers(&filter, request).await?;
                for timer in &timers {
                    self.scheduler.cancel_timer(&timer.id).await.map_err(|error| error.to_string())?;
                }
                let count = timers.len().to_string();
                Ok(said(lexicon.say("timers_cancelled", &[("count", &count)])))
            }
            TimerChange::Query(filter) => {
                let timers = self.timers(filter, request).await?;
                if timers.is_empty() {
                    return Ok(said(lexicon.say("no_timer", &[])));
                }
                let lines = timers.iter().map(|timer| {
                    let left = u64::try_from(timer.left_millis / 1000).unwrap_or(0);
                    lexicon.say(
                        "timer_left",
                        &[("name", &timer_name(timer, lexicon)), ("left", &duration(left, lexicon))],
                    )
                });
                Ok(
                    json!({"said": self.report.join(&request.language, &lines.collect::<Vec<_>>()), "timers": timers}),
                )
            }
            TimerChange::Pause(_) | TimerChange::Resume(_) => Err(lexicon.say("timer_no_pause", &[])),
        }
    }

    async fn extend(
        &self,
        filter: &TimerFilter,
        seconds: i64,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Value, String> {
        let timer = self.one_timer(filter, request, lexicon).await?;
        let timer =
            self.scheduler.extend_timer(&timer.id, seconds).await.map_err(|error| error.to_string())?;
        let left = u64::try_from(timer.left_millis / 1000).unwrap_or(0);
        let name = timer_name(&timer, lexicon);
        Ok(said(lexicon.say("timer_left", &[("name", &name), ("left", &duration(left, lexicon))])))
    }

    async fn timers(&self, filter: &TimerFilter, request: &HouseholdRequest) -> Result<Vec<Timer>, String> {
        let _ = request;
        let all = self.scheduler.timers().await.map_err(|error| error.to_string())?;
        let fits = |timer: &Timer| {
            filter.label.as_ref().is_none_or(|label| timer.label.eq_ignore_ascii_case(label))
                && filter.length.is_none_or(|length| timer.seconds == length)
                && filter.area.as_ref().is_none_or(|area| timer.origin["area"].as_str() == Some(area))
        };
        Ok(all.into_iter().filter(fits).collect())
    }

    /// The timer that is meant; several that fit are a question.
    async fn one_timer(
        &self,
        filter: &TimerFilter,
        request: &HouseholdRequest,
        lexicon: &Lexicon,
    ) -> Result<Timer, String> {
        let mut fits = self.timers(filter, request).await?;
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

fn timer_name(timer: &Timer, lexicon: &Lexicon) -> String {
    if timer.label.is_empty() {
        return lexicon.say("timer_of", &[("length", &duration(timer.seconds, lexicon))]);
    }
    lexicon.say("timer_named", &[("label", &timer.label)])
}
