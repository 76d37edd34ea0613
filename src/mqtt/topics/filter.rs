//! The rules of MQTT topics and filters (MQTT 5, section 4.7), and ours on top.

use super::MAX_TOPIC;

/// Why a topic or filter is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTopic {
    #[error("the topic is empty")]
    Empty,
    #[error("the topic has {0} bytes; at most {MAX_TOPIC} are allowed")]
    TooLong(usize),
    #[error("the topic {0:?} holds a wildcard; only filters may")]
    Wildcard(String),
    #[error("the topic {0:?} holds a control character")]
    Control(String),
    #[error("the topic {0:?} begins with $, which belongs to the broker")]
    Dollar(String),
    #[error("the topic {0:?} has an empty level")]
    EmptyLevel(String),
    #[error("the filter {0:?} is malformed: + and # stand alone in a level, and # comes last")]
    Filter(String),
}

/// Checks a topic to publish to: not empty, at most [`MAX_TOPIC`] bytes, no wildcard, no control or non-character,
/// no leading `$`.
pub fn check_topic(topic: &str) -> Result<(), BadTopic> {
    check_text(topic)?;
    if topic.contains(['+', '#']) {
        return Err(BadTopic::Wildcard(topic.to_owned()));
    }
    if topic.starts_with('$') {
        return Err(BadTopic::Dollar(topic.to_owned()));
    }
    Ok(())
}

/// Checks a filter to subscribe to: as a topic, but `+` and `#` may stand alone in a level and `#` comes last.
/// A filter may begin with `$`: reading `$SYS` harms nobody.
pub fn check_filter(filter: &str) -> Result<(), BadTopic> {
    check_text(filter)?;
    let mut levels = filter.split('/').peekable();
    while let Some(level) = levels.next() {
        let last = levels.peek().is_none();
        let legal = match level {
            "+" => true,
            "#" => last,
            _ => !level.contains(['+', '#']),
        };
        if !legal {
            return Err(BadTopic::Filter(filter.to_owned()));
        }
    }
    Ok(())
}

fn check_text(text: &str) -> Result<(), BadTopic> {
    if text.is_empty() {
        return Err(BadTopic::Empty);
    }
    if text.len() > MAX_TOPIC {
        return Err(BadTopic::TooLong(text.len()));
    }
    // U+FFFE and U+FFFF of every plane are non-characters; brokers may close the connection over them.
    let illegal =
        |c: char| c.is_control() || (c as u32) & 0xFFFE == 0xFFFE || matches!(c, '\u{2028}' | '\u{2029}');
    if text.contains(illegal) {
        return Err(BadTopic::Control(text.to_owned()));
    }
    Ok(())
}

/// Whether every topic that `inner` matches is matched by `outer` too.
pub fn within(inner: &str, outer: &str) -> bool {
    if inner.starts_with('$') && outer.starts_with(['+', '#']) {
        return false;
    }
    let mut levels = inner.split('/');
    for allowed in outer.split('/') {
        if allowed == "#" {
            return true;
        }
        match levels.next() {
            Some("#") | None => return false,
            Some(level) if allowed == "+" || allowed == level => {}
            Some(_) => return false,
        }
    }
    levels.next().is_none()
}

/// Whether some topic is matched by both filters.
pub fn overlap(one: &str, other: &str) -> bool {
    let dollar = |filter: &str| filter.starts_with('$');
    let wild = |filter: &str| filter.starts_with(['+', '#']);
    if (dollar(one) && wild(other)) || (wild(one) && dollar(other)) {
        return false;
    }
    let (mut one, mut other) = (one.split('/'), other.split('/'));
    loop {
        match (one.next(), other.next()) {
            (Some("#"), _) | (_, Some("#")) | (None, None) => return true,
            (Some(a), Some(b)) if a == b || a == "+" || b == "+" => {}
            (Some(_), Some(_) | None) | (None, Some(_)) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_to_publish_to() {
        for good in ["a", "a/b c/d", "/", "a//b", "家/灯", "valetudo/robot/$state"] {
            assert_eq!(check_topic(good), Ok(()), "{good}");
        }
        let long = "x".repeat(MAX_TOPIC + 1);
        for bad in
            ["", "a/+", "#", "a#", "$SYS/x", "a\nb", "a\0b", "a\u{85}b", "a\u{ffff}", "a\u{2028}b", &long]
        {
            assert!(check_topic(bad).is_err(), "{bad:?}");
        }
        assert_eq!(check_topic(&"x".repeat(MAX_TOPIC)), Ok(()));
    }

    #[test]
    fn filters_to_subscribe_to() {
        for good in ["#", "+", "a/#", "+/+/x", "a/+/#", "/", "$SYS/#", "+/a"] {
            assert_eq!(check_filter(good), Ok(()), "{good}");
        }
        for bad in ["", "a/#/b", "a#", "a/b+", "+a", "##", "a\0"] {
            assert!(check_filter(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn filters_overlap() {
        for (one, other, expected) in [
            ("a/b", "a/b", true),
            ("a/+", "+/b", true),
            ("a/#", "a", true),
            ("#", "a/b", true),
            ("+/+/x", "a/b/y", false),
            ("a/+", "a", false),
            ("a/b/#", "a/+", true),
            ("#", "$SYS/x", false),
            ("a", "b", false),
        ] {
            assert_eq!(overlap(one, other), expected, "{one} {other}");
            assert_eq!(overlap(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn a_filter_lies_within_another() {
        for (inner, outer, expected) in [
            ("a/b", "a/#", true),
            ("a/#", "a/#", true),
            ("a/+/c", "a/#", true),
            ("a", "a/#", true),
            ("#", "a/#", false),
            ("+/b", "a/#", false),
            ("a/#", "a/+", false),
            ("a/+", "a/+", true),
            ("a/b", "a/+", true),
            ("a/+", "a/b", false),
            ("$SYS/x", "#", false),
            ("ab/x", "a/#", false),
        ] {
            assert_eq!(within(inner, outer), expected, "{inner} {outer}");
        }
    }
}
