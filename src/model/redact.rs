//! What must not leave for a provider: secrets, street addresses, coordinates and network addresses in device text.
//!
//! Pure. It replaces what it knows and what looks like one of the kinds; it cannot know that a sentence without any
//! sign of it is private. Names and ids of entities are not touched by the patterns as they are written by Home
//! Assistant (`light.kitchen_ceiling`); a person's own words can be listed.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

/// The table `[models.redact]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RedactSettings {
    pub kinds: Vec<Kind>,
    /// Texts to take out wherever they stand, in upper or lower case.
    pub words: Vec<String>,
    /// Regular expressions to take out.
    pub patterns: Vec<String>,
}

impl Default for RedactSettings {
    fn default() -> Self {
        Self {
            kinds: vec![Kind::Secret, Kind::Address, Kind::Coordinates, Kind::Network],
            words: Vec::new(),
            patterns: Vec::new(),
        }
    }
}

/// A kind of text that is recognised by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Keys, tokens, passwords, private keys.
    Secret,
    /// Street addresses in English, German, French, Spanish, Italian and Chinese.
    Address,
    /// Pairs of latitude and longitude, and values named so.
    Coordinates,
    /// IPv4, IPv6 and MAC addresses.
    Network,
}

/// Takes private text out. Cheap to share, costly to build.
pub struct Redactor {
    known: Option<AhoCorasick>,
    /// So many of the known texts are secrets; words of the settings follow.
    secrets: usize,
    rules: Vec<Rule>,
}

struct Rule {
    pattern: Regex,
    label: &'static str,
    /// A second look at a match, for what an expression cannot say.
    holds: fn(&Captures<'_>) -> bool,
}

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedactFault {
    #[error("models.redact.patterns[{index}] is not a regular expression: {reason}")]
    Pattern { index: usize, reason: String },
    /// A fault of ours.
    #[error("the built-in patterns for {kind:?} are not usable: {reason}")]
    BuiltIn { kind: Kind, reason: String },
    #[error("models.redact.words or the secrets are too many to search for: {0}")]
    Words(String),
}

/// Known secrets shorter than this, in bytes, are not searched for: they would be found everywhere.
const SHORTEST_SECRET: usize = 4;
/// Known secrets shorter than this, in bytes, are codes: they are taken out where they stand alone, and not as a part
/// of a word or a longer number.
const STANDS_ALONE: usize = 6;

impl Redactor {
    /// `secrets` are the values that the daemon itself holds: keys, passwords, codes (see
    /// `Settings::private_values`). They are always taken out.
    pub fn new(settings: &RedactSettings, secrets: &[SecretString]) -> Result<Self, RedactFault> {
        let secrets: Vec<&str> = secrets
            .iter()
            .map(|secret| secret.expose_secret())
            .filter(|text| text.len() >= SHORTEST_SECRET)
            .collect();
        let words = settings.words.iter().map(|word| word.trim()).filter(|word| !word.is_empty());
        let known: Vec<&str> = secrets.iter().copied().chain(words).collect();
        let known = match known.is_empty() {
            true => None,
            false => Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .ascii_case_insensitive(true)
                    .build(known)
                    .map_err(|error| RedactFault::Words(error.to_string()))?,
            ),
        };
        let mut rules = Vec::new();
        for kind in &settings.kinds {
            for (pattern, label, holds) in kind.rules() {
                // With boundaries of ASCII words the fast engines can be used on text in any language: 20 times faster.
                let pattern = Regex::new(&pattern.replace(r"\b", r"(?-u:\b)"))
                    .map_err(|error| RedactFault::BuiltIn { kind: *kind, reason: error.to_string() })?;
                rules.push(Rule { pattern, label, holds: *holds });
            }
        }
        for (index, pattern) in settings.patterns.iter().enumerate() {
            let pattern = Regex::new(pattern)
                .map_err(|error| RedactFault::Pattern { index, reason: error.to_string() })?;
            rules.push(Rule { pattern, label: "[private]", holds: always });
        }
        Ok(Self { known, secrets: secrets.len(), rules })
    }

    /// `text` without what is private. Borrowed when there was nothing to take out.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut current = self.redact_known(text);
        for rule in &self.rules {
            if let Cow::Owned(replaced) = rule.apply(&current) {
                current = Cow::Owned(replaced);
            }
        }
        current
    }

    /// `text` without known secrets and words: for text whose form must stay, such as JSON that a model wrote.
    pub fn redact_known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(known) = self.known.as_ref().filter(|known| known.is_match(text)) else {
            return Cow::Borrowed(text);
        };
        let mut out = String::with_capacity(text.len());
        known.replace_all_with(text, &mut out, |found, matched, out| {
            let code = found.pattern().as_usize() < self.secrets && matched.len() < STANDS_ALONE;
            let kept = code && !is_alone(text, found.start()..found.end());
            out.push_str(if kept { matched } else { "[private]" });
            true
        });
        Cow::Owned(out)
    }

    /// The same for every text of a JSON value. Numbers stay: those of a schema must be numbers. Borrowed when there was
    /// nothing to take out.
    pub fn redact_json<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        self.cleared(value, false)
    }

    /// The same for arguments that a model wrote, where a code may be a number.
    pub fn redact_arguments<'a>(&self, value: &'a Value) -> Cow<'a, Value> {
        self.cleared(value, true)
    }

    fn cleared<'a>(&self, value: &'a Value, numbers: bool) -> Cow<'a, Value> {
        let Some(known) = &self.known else { return Cow::Borrowed(value) };
        if !holds_known(known, value, numbers) {
            return Cow::Borrowed(value);
        }
        let mut value = value.clone();
        self.clear(&mut value, numbers);
        Cow::Owned(value)
    }

    fn clear(&self, value: &mut Value, numbers: bool) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleared) = self.redact_known(text) {
                    *text = cleared;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clear(item, numbers)),
            Value::Object(fields) => {
                for (key, mut field) in std::mem::take(fields) {
                    self.clear(&mut field, numbers);
                    // The keys of a schema are ours.
                    let key = if numbers { self.redact_known(&key).into_owned() } else { key };
                    fields.insert(key, field);
                }
            }
            Value::Number(number) => {
                let text = number.to_string();
                if numbers && let Cow::Owned(cleared) = self.redact_known(&text) {
                    *value = Value::String(cleared);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Whether a known text stands in a value, in whatever form JSON writes it.
fn holds_known(known: &AhoCorasick, value: &Value, numbers: bool) -> bool {
    match value {
        Value::String(text) => known.is_match(text),
        Value::Array(items) => items.iter().any(|item| holds_known(known, item, numbers)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, field)| (numbers && known.is_match(key)) || holds_known(known, field, numbers)),
        Value::Number(number) => numbers && known.is_match(&number.to_string()),
        Value::Null | Value::Bool(_) => false,
    }
}

/// Whether what stands at `range` is no part of a word or number.
fn is_alone(text: &str, range: std::ops::Range<usize>) -> bool {
    // Chinese has no spaces between words: "密码4711".
    let joins = |character: Option<char>| character.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let before = text.get(..range.start).and_then(|before| before.chars().next_back());
    let after = text.get(range.end..).and_then(|after| after.chars().next());
    !joins(before) && !joins(after)
}

impl Rule {
    fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.pattern.replace_all(text, |found: &Captures<'_>| {
            let whole = found.get(0).map_or("", |whole| whole.as_str());
            if !(self.holds)(found) {
                return whole.to_owned();
            }
            // A group named `keep` is what introduces the private part and stays readable.
            let keep = found.name("keep").map_or("", |keep| keep.as_str());
            format!("{keep}{}", self.label)
        })
    }
}

/// Pattern, what takes its place, and a second look.
type RuleText = (&'static str, &'static str, fn(&Captures<'_>) -> bool);

impl Kind {
    fn rules(self) -> &'static [RuleText] {
        match self {
            Kind::Secret => SECRETS,
            Kind::Address => ADDRESSES,
            Kind::Coordinates => COORDINATES,
            Kind::Network => NETWORK,
        }
    }
}

const SECRETS: &[RuleText] = &[
    (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        "[secret]",
        always,
    ),
    // Keys by their makers' prefixes.
    (r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat|hf)[-_][A-Za-z0-9_-]{16,}", "[secret]", always),
    (r"\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}", "[secret]", always),
    // JSON web tokens, which Home Assistant's long-lived tokens are.
    (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", "[secret]", always),
    (r"(?i)(?P<keep>\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}", "[secret]", always),
    (
        r#"(?i)(?P<keep>(?:\b(?:pass(?:word|wd|phrase|code)?|pwd|api[_ -]?key|access[_ -]?key|secret|token|psk|pin(?: ?code)?|wifi[_ -]?key|passwort|kennwort)|密码|口令|密钥)["']?\s*(?:[:=：]|\bis\b|\bist\b|是|为)\s*["']?)[^\s"',;}\]]{4,}"#,
        "[secret]",
        always,
    ),
    // Credentials in a URL.
    (r"(?P<keep>\b[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@", "[secret]@", always),
];

const ADDRESSES: &[RuleText] = &[
    // 12 Main Street, 221B Baker St.
    (
        r"(?x)\b\d{1,5}[A-Za-z]?\s+(?:(?:[NSEW]|North|South|East|West)\.?\s+)?
          (?:\p{Lu}[\p{L}'.-]*\s+){1,4}
          (?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Place|Pl|Terrace|Way|Close|Crescent|Square|Highway|Parkway)\b\.?",
        "[address]",
        always,
    ),
    // Hauptstraße 12a, Lange Gasse 3
    (
        r"(?x)\b(?:\p{Lu}[\p{L}.-]*[\s-])?\p{Lu}?\p{L}*
          (?:stra(?:ß|ss)e|str\.|[Ss]tr\.|gasse|Gasse|allee|Allee|platz|Platz|Weg|weg|damm|ufer|ring|Straße)
          \s+\d{1,4}\s?[a-z]?\b",
        "[address]",
        always,
    ),
    // 12 rue de la Paix, Calle Mayor 5, Via Roma 10
    (
        r"(?x)\b\d{1,4}(?:\s?(?:bis|ter))?,?\s+(?i:rue|avenue|boulevard|chemin|impasse|quai|allée)\s+
          (?:(?:de|du|des|la|le|les|d'|l')\s*)*\p{Lu}[\p{L}'-]*(?:\s\p{Lu}[\p{L}'-]*)*",
        "[address]",
        always,
    ),
    (
        r"(?x)\b(?:Calle|Avenida|Avda\.|Paseo|Plaza|Via|Viale|Piazza|Corso)\s+
          (?:(?:de|del|della|di|la|el|los|las)\s+)*\p{Lu}[\p{L}'-]*(?:\s\p{Lu}[\p{L}'-]*)*,?\s+\d{1,4}\b",
        "[address]",
        always,
    ),
    // 朝阳区人民路88号3单元502室
    (
        r"(?:\p{Han}{1,8}[省市区县镇乡])*\p{Han}{1,8}(?:路|街|大道|巷|弄|胡同|道)\s?\d{1,5}\s?(?:号|弄)(?:院|楼)?(?:\s?\d{1,4}\s?(?:号楼|单元|栋|幢|室|层|楼|号))*",
        "[address]",
        always,
    ),
];

const COORDINATES: &[RuleText] = &[
    (
        r#"(?i)(?P<keep>(?:\b(?:lat|latitude|lon|lng|long|longitude)|纬度|经度)["']?\s*[:=：]\s*["']?)-?\d{1,3}(?:\.\d+)?"#,
        "[coordinates]",
        always,
    ),
    (
        r"(?P<lat>[-+]?\d{1,2}\.\d{3,})\s*°?\s*[NS]?\s*[,;/ ]\s*(?P<lon>[-+]?\d{1,3}\.\d{3,})(?:\s*°?\s*[EW]\b)?",
        "[coordinates]",
        is_place_on_earth,
    ),
    // 51°30'26"N
    (r#"\d{1,3}°\s?\d{1,2}['′]\s?(?:\d{1,2}(?:\.\d+)?["″]\s?)?[NSEW]\b"#, "[coordinates]", always),
];

const NETWORK: &[RuleText] = &[
    (r"(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?:[:-][0-9a-f]{2}){0,2}\b", "[network address]", always),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?:/\d{1,2}\b)?(?::\d{1,5}\b)?", "[network address]", is_ipv4),
    // Everything with two colons, to be parsed: an address has no other sure sign.
    (r"[0-9A-Za-z_.]*(?::[0-9A-Za-z_.]*){2,}(?:%[0-9A-Za-z]+)?(?:/\d{1,3}\b)?", "[network address]", is_ipv6),
];

fn always(_: &Captures<'_>) -> bool {
    true
}

/// A pair of small fractions is a colour or a share, not a place.
fn is_place_on_earth(found: &Captures<'_>) -> bool {
    let number = |name| found.name(name).and_then(|text| text.as_str().parse::<f64>().ok());
    match (number("lat"), number("lon")) {
        (Some(lat), Some(lon)) => {
            let colour = (0.0..=1.0).contains(&lat) && (0.0..=1.0).contains(&lon);
            lat.abs() <= 90.0 && lon.abs() <= 180.0 && !colour
        }
        _ => false,
    }
}

fn is_ipv4(found: &Captures<'_>) -> bool {
    bare_address(found).parse::<Ipv4Addr>().is_ok()
}

/// Also keeps times (`12:30:45`) and empty separators (`::`) as they are.
fn is_ipv6(found: &Captures<'_>) -> bool {
    let address = bare_address(found).trim_end_matches('.');
    address.len() > 2 && address.parse::<Ipv6Addr>().is_ok()
}

/// The match without zone, prefix length or port.
fn bare_address<'a>(found: &'a Captures<'_>) -> &'a str {
    let whole = found.get(0).map_or("", |whole| whole.as_str());
    let end = whole.find(['/', '%']).unwrap_or(whole.len());
    let address = whole.get(..end).unwrap_or(whole);
    match address.split_once(':') {
        Some((host, _)) if host.contains('.') => host,
        Some(_) | None => address,
    }
}

#[cfg(test)]
mod tests;
