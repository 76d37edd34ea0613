//! What tokens cost: micro-dollars from the prices in settings.
//!
//! Prices are not looked up anywhere: providers change them, and a figure in the binary would be wrong by the time
//! it is read. The presets hold the ones known at release; a person corrects them in the settings.

use serde::Deserialize;

use super::Usage;

/// Prices of one model in US dollars per million tokens. All zero: free, as a local model is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    /// Input that was not read from the provider's cache.
    pub input: f64,
    /// Input read from the cache. `None`: the same as `input`.
    pub cached_input: Option<f64>,
    /// Input written to the cache (Anthropic). `None`: the same as `input`.
    pub cache_write: Option<f64>,
    pub output: f64,
}

/// Token counts of one request, so far. The three kinds of input exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub fresh_input: u64,
    pub cached_input: u64,
    pub written_input: u64,
    pub output: u64,
}

impl Prices {
    /// What `tokens` cost, rounded up to whole micro-dollars: a dollar per million tokens is a micro-dollar a token.
    pub fn micro_dollars(&self, tokens: &Tokens) -> u64 {
        let parts = [
            (tokens.fresh_input, self.input),
            (tokens.cached_input, self.cached_input.unwrap_or(self.input)),
            (tokens.written_input, self.cache_write.unwrap_or(self.input)),
            (tokens.output, self.output),
        ];
        let pico: u128 = parts.iter().map(|(count, price)| u128::from(*count) * pico_dollars(*price)).sum();
        u64::try_from(pico.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// Why these prices cannot be used, if so.
    pub fn fault(&self) -> Option<String> {
        let all = [Some(self.input), self.cached_input, self.cache_write, Some(self.output)];
        all.into_iter()
            .flatten()
            .find(|price| !price.is_finite() || *price < 0.0 || *price > 100_000.0)
            .map(|price| format!("price {price} is not between 0 and 100000 dollars per million tokens"))
    }
}

/// Whole pico-dollars for one token, so that sums are exact.
fn pico_dollars(per_million: f64) -> u128 {
    // A cast from float saturates, and not-a-number becomes zero; `fault` has refused both at the start.
    (per_million * 1_000_000.0).round() as u128
}

/// Follows the counts that a provider reports during a stream, and yields what is new since the last look.
#[derive(Debug, Default)]
pub struct Meter {
    prices: Prices,
    seen: Tokens,
    told: Usage,
}

/// Bytes of English or JSON that make about one token, for providers that do not count.
const BYTES_PER_TOKEN: u64 = 4;

impl Meter {
    pub fn new(prices: Prices) -> Self {
        Self { prices, ..Self::default() }
    }

    /// Takes a report. Reports are totals of the request so far; a smaller figure than an earlier one is ignored.
    pub fn report(&mut self, tokens: Tokens) {
        self.seen = Tokens {
            fresh_input: self.seen.fresh_input.max(tokens.fresh_input),
            cached_input: self.seen.cached_input.max(tokens.cached_input),
            written_input: self.seen.written_input.max(tokens.written_input),
            output: self.seen.output.max(tokens.output),
        };
    }

    /// For what a provider did not report, or could not before it was stopped: a guess from the bytes, so that the
    /// budgets of a task still end it.
    /// `complete`: the model came to its end, and what it reported is all.
    pub fn estimate_unreported(&mut self, request_bytes: usize, said_bytes: usize, complete: bool) {
        let tokens = |bytes| u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN);
        if self.seen.fresh_input + self.seen.cached_input + self.seen.written_input == 0 {
            self.seen.fresh_input = tokens(request_bytes);
        }
        if self.seen.output == 0 || !complete {
            self.seen.output = self.seen.output.max(tokens(said_bytes));
        }
    }

    /// The counts of this request so far.
    pub fn seen(&self) -> Tokens {
        self.seen
    }

    /// What was spent since the last call of this function; `None` when nothing was.
    pub fn take_new(&mut self) -> Option<Usage> {
        let seen = self.seen;
        let total = Usage {
            input_tokens: seen.fresh_input + seen.cached_input + seen.written_input,
            cached_tokens: seen.cached_input,
            output_tokens: seen.output,
            micro_dollars: self.prices.micro_dollars(&seen),
        };
        let new = Usage {
            input_tokens: total.input_tokens.saturating_sub(self.told.input_tokens),
            cached_tokens: total.cached_tokens.saturating_sub(self.told.cached_tokens),
            output_tokens: total.output_tokens.saturating_sub(self.told.output_tokens),
            micro_dollars: total.micro_dollars.saturating_sub(self.told.micro_dollars),
        };
        self.told = total;
        (new != Usage::default()).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SONNET_LIKE: Prices =
        Prices { input: 3.0, cached_input: Some(0.3), cache_write: Some(3.75), output: 15.0 };

    #[test]
    fn money_is_exact_and_rounds_up() {
        let tokens = |fresh_input, cached_input, written_input, output| Tokens {
            fresh_input,
            cached_input,
            written_input,
            output,
        };
        let cheap = Prices { input: 0.1, cached_input: None, cache_write: None, output: 0.4 };
        for (prices, tokens, expected) in [
            (SONNET_LIKE, tokens(1_000_000, 0, 0, 0), 3_000_000),
            (SONNET_LIKE, tokens(100, 2_000, 0, 50), 300 + 600 + 750),
            (SONNET_LIKE, tokens(0, 0, 1_000, 0), 3_750),
            (cheap, tokens(1, 0, 0, 0), 1),
            (cheap, tokens(11, 0, 0, 0), 2),
            (cheap, tokens(0, 10, 0, 0), 1),
            (Prices::default(), tokens(9_000_000, 1, 1, 1), 0),
            (SONNET_LIKE, tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX), u64::MAX),
        ] {
            assert_eq!(prices.micro_dollars(&tokens), expected, "{prices:?} {tokens:?}");
        }
    }

    #[test]
    fn impossible_prices_are_refused() {
        for price in [-0.1, f64::NAN, f64::INFINITY, 1e9] {
            assert!(Prices { output: price, ..SONNET_LIKE }.fault().is_some(), "{price}");
        }
        assert_eq!(SONNET_LIKE.fault(), None);
    }

    #[test]
    fn a_meter_tells_every_token_once() {
        let mut meter = Meter::new(SONNET_LIKE);
        assert_eq!(meter.take_new(), None);
        meter.report(Tokens { fresh_input: 10, cached_input: 100, written_input: 5, output: 1 });
        let first = meter.take_new().expect("something is new");
        assert_eq!((first.input_tokens, first.cached_tokens, first.output_tokens), (115, 100, 1));
        meter.report(Tokens { output: 40, ..Tokens::default() });
        let second = meter.take_new().expect("output is new");
        assert_eq!((second.input_tokens, second.output_tokens), (0, 39));
        assert_eq!(first.micro_dollars + second.micro_dollars, SONNET_LIKE.micro_dollars(&meter.seen()));
        meter.estimate_unreported(4_000, 4_000, true);
        assert_eq!(meter.take_new(), None, "what was reported is not guessed again");
    }

    #[test]
    fn silence_about_usage_is_estimated() {
        let mut meter = Meter::new(Prices::default());
        meter.estimate_unreported(4_001, 8, true);
        let usage = meter.take_new().expect("an estimate");
        assert_eq!((usage.input_tokens, usage.output_tokens), (1_001, 2));
        // Anthropic tells what was read at the start, and what was said at the end: before it, that is estimated.
        let mut meter = Meter::new(Prices::default());
        meter.report(Tokens { cached_input: 50, output: 1, ..Tokens::default() });
        meter.estimate_unreported(4_001, 8, false);
        let usage = meter.take_new().expect("a report and an estimate");
        assert_eq!((usage.input_tokens, usage.output_tokens), (50, 2));
    }
}
