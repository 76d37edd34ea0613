//! Money for language models: what a day and a month may cost. What was spent is in the journal, so that a restart
//! forgets nothing. The limits of one task are [`super::Limits`]; prices are the models' own settings.

use chrono::NaiveDate;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::journal::memory::Spent;
use crate::journal::{Journal, JournalError};
use crate::model::Usage;

/// The table `[agent.budget]`, in millionths of a US dollar. 0: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub micro_dollars_a_day: u64,
    pub micro_dollars_a_month: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { micro_dollars_a_day: 1_000_000, micro_dollars_a_month: 10_000_000 }
    }
}

/// What a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    Day,
    Month,
}

impl Period {
    pub fn word(self) -> &'static str {
        match self {
            Period::Day => "day",
            Period::Month => "month",
        }
    }
}

/// Limits and what is gone of them, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Balance {
    pub day_spent: u64,
    pub day_limit: u64,
    pub month_spent: u64,
    pub month_limit: u64,
}

impl Balance {
    /// The first limit that is reached; `None` while language models may be asked.
    pub fn reached(&self) -> Option<Period> {
        let is_reached = |spent: u64, limit: u64| limit > 0 && spent >= limit;
        if is_reached(self.day_spent, self.day_limit) {
            Some(Period::Day)
        } else if is_reached(self.month_spent, self.month_limit) {
            Some(Period::Month)
        } else {
            None
        }
    }
}

/// Keeps the books. Days and months are those of the home's time zone.
pub(super) struct Purse {
    budget: Budget,
    journal: Journal,
    clock: Clock,
    zone: Tz,
}

impl Purse {
    pub fn new(budget: Budget, journal: Journal, clock: Clock, zone: Tz) -> Self {
        Self { budget, journal, clock, zone }
    }

    /// The limit that is reached now. Turns that run at the same time may go over it by what they cost themselves.
    pub async fn reached(&self) -> Result<Option<Period>, JournalError> {
        if self.budget == (Budget { micro_dollars_a_day: 0, micro_dollars_a_month: 0 }) {
            return Ok(None);
        }
        Ok(self.balance().await?.reached())
    }

    pub async fn balance(&self) -> Result<Balance, JournalError> {
        let spent = self.journal.spent(self.today()).await?;
        Ok(Balance {
            day_spent: spent.day.micro_dollars,
            day_limit: self.budget.micro_dollars_a_day,
            month_spent: spent.month.micro_dollars,
            month_limit: self.budget.micro_dollars_a_month,
        })
    }

    /// Books what a turn has cost, failed attempts included.
    pub async fn pay(&self, usage: Usage) -> Result<(), JournalError> {
        let tokens = usage.input_tokens + usage.output_tokens;
        if tokens > 0 || usage.micro_dollars > 0 {
            let spent = Spent { micro_dollars: usage.micro_dollars, tokens };
            self.journal.spend(self.today(), spent).await?;
        }
        Ok(())
    }

    fn today(&self) -> NaiveDate {
        self.clock.now().with_timezone(&self.zone).date_naive()
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    fn usage(micro_dollars: u64) -> Usage {
        Usage { input_tokens: 10, micro_dollars, ..Usage::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_day_and_a_month_have_their_own_limits() {
        let clock = Clock::simulated(DateTime::UNIX_EPOCH + TimeDelta::hours(12), 1);
        let journal = Journal::in_memory(clock.clone()).unwrap();
        let budget = Budget { micro_dollars_a_day: 100, micro_dollars_a_month: 150 };
        let purse = Purse::new(budget, journal.clone(), clock.clone(), Tz::UTC);
        purse.pay(usage(99)).await.unwrap();
        assert_eq!(purse.reached().await.unwrap(), None);
        purse.pay(usage(1)).await.unwrap();
        assert_eq!(purse.reached().await.unwrap(), Some(Period::Day));
        clock.step_wall(TimeDelta::days(1));
        assert_eq!(purse.reached().await.unwrap(), None, "a new day");
        purse.pay(usage(60)).await.unwrap();
        assert_eq!(purse.reached().await.unwrap(), Some(Period::Month));
        clock.step_wall(TimeDelta::days(31));
        assert_eq!(purse.reached().await.unwrap(), None, "a new month");
        let free = Budget { micro_dollars_a_day: 0, micro_dollars_a_month: 0 };
        let free = Purse::new(free, journal, clock, Tz::UTC);
        free.pay(usage(1_000_000_000)).await.unwrap();
        assert_eq!(free.reached().await.unwrap(), None, "0 is no limit");
    }

    /// Midnight is the home's, not that of Greenwich.
    #[tokio::test(start_paused = true)]
    async fn a_day_is_that_of_the_home() {
        let clock = Clock::simulated(DateTime::UNIX_EPOCH + TimeDelta::hours(15), 1);
        let journal = Journal::in_memory(clock.clone()).unwrap();
        let budget = Budget { micro_dollars_a_day: 1, micro_dollars_a_month: 0 };
        let purse = Purse::new(budget, journal, clock.clone(), Tz::Asia__Shanghai);
        purse.pay(usage(1)).await.unwrap();
        assert_eq!(purse.reached().await.unwrap(), Some(Period::Day));
        clock.step_wall(TimeDelta::hours(1));
        assert_eq!(purse.reached().await.unwrap(), None, "it is midnight in Shanghai");
    }
}
