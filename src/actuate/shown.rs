//! What a person sees of a question: rendered from the frozen plan by fixed templates, in full, without model text.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::plan::{Occasion, Plan, PlanLeaf};
use crate::home::{Arg, ArgValue, Verb};
use crate::policy::{Approval, Moment, Snapshot};

/// Characters of a name or a value that are shown; an id stands beside it in full.
const NAME: usize = 64;

/// More characters than any free text or topic has that a plan may hold.
const TEXT: usize = 4096;

/// Characters of the times of a schedule that are shown.
const WHEN: usize = 200;

/// The reason of an approval that was asked while nobody was home.
pub(super) const NOBODY_HOME: &str = "nobody is home";

/// Follows the id of an entity that a person could take for a target, as a reason of an approval.
pub(super) const TWIN: &str = " has a name that looks the same";

/// One question as every channel shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// Every target, never cut.
    pub targets: Vec<ShownTarget>,
    /// What should make a person careful.
    pub warnings: Vec<String>,
    /// All of it as lines of plain text.
    pub text: String,
}

/// One target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownTarget {
    /// `UNLOCK`
    pub what: String,
    pub name: String,
    pub entity: String,
    pub device: Option<String>,
    /// `locked, 12 s ago` or that it is unknown.
    pub now: String,
}

impl Shown {
    /// Renders a question in `language` (`zh`, otherwise English). `None` where the stored plan is not what was hashed:
    /// then there is nothing that a person could approve.
    pub fn of(approval: &Approval, language: &str, now: &Moment) -> Option<Self> {
        let plan = Plan::restore(
            &approval.plan_json,
            &approval.policy_version,
            &approval.device_hash,
            &approval.plan_hash,
        )?;
        let words = if language == "zh" { &ZH } else { &EN };
        let targets: Vec<ShownTarget> = plan
            .leaves()
            .iter()
            .map(|leaf| {
                let state = approval.precondition.iter().find(|shown| shown.entity == leaf.action.entity);
                target(leaf, state, plan.occasion(), words, now.wall)
            })
            .collect();
        let schedule = plan.occasion().map(|occasion| match occasion {
            Occasion::Scheduled { when } => format!("{}{}", words.not_now, clean(when, WHEN)),
            Occasion::Dropped { when } => format!("{}{}", words.dropped, clean(when, WHEN)),
        });
        let taint = approval.taint.as_deref().map(|source| format!("{}{}", words.taint, clean(source, NAME)));
        let away = approval.reasons.iter().any(|reason| reason == NOBODY_HOME).then(|| words.away.to_owned());
        let twins = approval.reasons.iter().filter_map(|reason| reason.strip_suffix(TWIN));
        let twins = twins.map(|twin| format!("{}{}", words.twin, clean(twin, NAME)));
        let warnings = schedule.into_iter().chain(away).chain(twins).chain(taint).collect();
        let mut shown = Self { targets, warnings, text: String::new() };
        shown.text = shown.lines(approval, words, now).join("\n");
        Some(shown)
    }

    fn lines(&self, approval: &Approval, words: &Words, now: &Moment) -> Vec<String> {
        let mut lines: Vec<String> = self
            .targets
            .iter()
            .map(|target| {
                let device = target.device.as_deref().map(|device| format!(", {device}")).unwrap_or_default();
                let ShownTarget { what, name, entity, now, .. } = target;
                format!("{what} - {name} ({entity}{device}) - {}{now}", words.now)
            })
            .collect();
        let from = approval.requester.device.as_deref().map(|device| format!(" \"{}\"", clean(device, NAME)));
        lines.push(format!(
            "{}{} {}{}: \"{}\" ({})",
            words.asked,
            approval.created.wall.format("%H:%M:%S UTC"),
            clean(&approval.requester.principal, NAME),
            from.unwrap_or_default(),
            clean(&approval.utterance, 500),
            words.unverified,
        ));
        lines.extend(self.warnings.iter().map(|warning| format!("{}{warning}", words.warning)));
        let left = approval.seconds_left(now);
        lines.push(format!(
            "{} {} - {} {}:{:02}",
            words.code,
            approval.match_code,
            words.expires,
            left / 60,
            left % 60
        ));
        lines
    }
}

fn target(
    leaf: &PlanLeaf,
    state: Option<&Snapshot>,
    occasion: Option<&Occasion>,
    words: &Words,
    now: DateTime<Utc>,
) -> ShownTarget {
    let mut what = match occasion {
        None => String::new(),
        Some(Occasion::Scheduled { .. }) => words.schedule.to_owned(),
        Some(Occasion::Dropped { .. }) => words.drop_schedule.to_owned(),
    };
    what.push_str(&title(leaf.action.verb, words));
    for (name, value) in &leaf.action.args {
        what.push_str(&format!(" {name}={}{}", shown_value(*name, value), name.unit()));
    }
    if leaf.action.verb == Verb::SendCommand {
        // What it does is known to the device alone: where it goes is a part of what is approved.
        for message in &leaf.messages {
            what.push_str(&format!(" -> {}", clean(&message.topic, TEXT)));
        }
    }
    ShownTarget {
        what,
        name: clean(&leaf.name, NAME),
        entity: leaf.action.entity.to_string(),
        device: leaf.device.as_deref().map(|device| clean(device, NAME)),
        now: known(state, words, now),
    }
}

/// An argument as it was asked for. Free text is never cut, and stands in quotation marks, so that nothing in it passes for
/// another argument.
fn shown_value(name: Arg, value: &ArgValue) -> String {
    let json = serde_json::to_string(value).unwrap_or_default();
    match name {
        Arg::Command | Arg::Params | Arg::Value | Arg::Message if value.as_text().is_some() => {
            clean(&json, TEXT)
        }
        _ => clean(json.trim_matches('"'), NAME),
    }
}

/// The state and its age; that it is unknown where no live report says it.
fn known(state: Option<&Snapshot>, words: &Words, now: DateTime<Utc>) -> String {
    let Some((state, value)) = state.and_then(|state| Some((state, state.value.as_deref()?))) else {
        return words.unknown.to_owned();
    };
    let ago = state.reported_at.map(|at| (now - at).num_seconds().max(0));
    let ago = match ago {
        None => String::new(),
        Some(seconds @ 0..120) => format!(", {seconds} {}", words.seconds),
        Some(seconds @ 120..7200) => format!(", {} {}", seconds / 60, words.minutes),
        Some(seconds) => format!(", {} {}", seconds / 3600, words.hours),
    };
    let value = clean(value, NAME);
    if state.known {
        format!("{value}{ago}")
    } else {
        format!("{} ({}{value}{ago})", words.unknown, words.last)
    }
}

/// `text` for people: control, zero-width and direction characters removed, line breaks made spaces, cut at `most`
/// characters.
pub fn clean(text: &str, most: usize) -> String {
    let hidden = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
    };
    let mut cleaned: String = text
        .chars()
        .map(|c| if c == '\n' || c == '\r' || c == '\t' { ' ' } else { c })
        .filter(|c| !c.is_control() && !hidden(*c))
        .take(most + 1)
        .collect();
    if cleaned.chars().count() > most {
        cleaned.pop();
        cleaned.push('…');
    }
    cleaned
}

struct Words {
    now: &'static str,
    unknown: &'static str,
    last: &'static str,
    seconds: &'static str,
    minutes: &'static str,
    hours: &'static str,
    asked: &'static str,
    unverified: &'static str,
    warning: &'static str,
    taint: &'static str,
    away: &'static str,
    twin: &'static str,
    schedule: &'static str,
    drop_schedule: &'static str,
    not_now: &'static str,
    dropped: &'static str,
    code: &'static str,
    expires: &'static str,
    verbs: &'static [(Verb, &'static str)],
}

const EN: Words = Words {
    now: "now: ",
    unknown: "state unknown",
    last: "last known: ",
    seconds: "s ago",
    minutes: "min ago",
    hours: "h ago",
    asked: "Asked ",
    unverified: "heard, not verified",
    warning: "Warning: ",
    taint: "text was read before this request from ",
    away: "nobody is home",
    twin: "another thing has a name that looks the same: ",
    schedule: "SCHEDULE: ",
    drop_schedule: "CANCEL SCHEDULE: ",
    not_now: "nothing is done now; it is asked for a schedule, and again when it is due: ",
    dropped: "it cancels a schedule, and then this is no longer done: ",
    code: "Code",
    expires: "expires in",
    verbs: &[],
};

const ZH: Words = Words {
    now: "现在：",
    unknown: "状态未知",
    last: "最后已知：",
    seconds: "秒前",
    minutes: "分钟前",
    hours: "小时前",
    asked: "请求于 ",
    unverified: "听到的内容，未核实",
    warning: "注意：",
    taint: "在此请求之前读取了以下来源的文字：",
    away: "家里没有人",
    twin: "另一个设备的名称看起来相同：",
    schedule: "定时：",
    drop_schedule: "取消定时：",
    not_now: "现在不执行；这是为定时询问的，到时会再次询问：",
    dropped: "这会取消一个定时，之后不再执行：",
    code: "核对码",
    expires: "剩余",
    verbs: &[
        (Verb::Unlock, "开锁"),
        (Verb::Lock, "上锁"),
        (Verb::Open, "打开"),
        (Verb::Close, "关闭"),
        (Verb::SetPosition, "设置位置"),
        (Verb::Disarm, "撤防"),
        (Verb::Trigger, "触发警报"),
        (Verb::ArmHome, "在家布防"),
        (Verb::ArmAway, "离家布防"),
        (Verb::ArmNight, "夜间布防"),
        (Verb::ArmVacation, "度假布防"),
        (Verb::ArmCustomBypass, "旁路布防"),
        (Verb::TurnOn, "打开"),
        (Verb::TurnOff, "关闭"),
        (Verb::SetTemperature, "设置温度"),
        (Verb::Press, "按下"),
        (Verb::Run, "运行"),
        (Verb::Activate, "启用"),
        (Verb::StartMowing, "开始割草"),
        (Verb::SetValue, "设置数值"),
        (Verb::SelectOption, "选择"),
        (Verb::SendCommand, "发送命令"),
    ],
};

/// The verb as a heading: `UNLOCK`, 开锁. A verb without a translation keeps its own word.
fn title(verb: Verb, words: &Words) -> String {
    match words.verbs.iter().find(|(listed, _)| *listed == verb) {
        Some((_, title)) => (*title).to_owned(),
        None => verb.word().replace('_', " ").to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_too_long_is_cut() {
        for (text, most, shown) in [
            ("lamp", 5, "lamp"),
            ("lamp", 4, "lamp"),
            ("lamps", 4, "lamp…"),
            ("lamps of the hall", 4, "lamp…"),
            ("a\nb\rc\td", 9, "a b c d"),
            // What is not shown does not count.
            ("la\u{200b}mp\u{7}", 4, "lamp"),
            ("大门口灯", 3, "大门口…"),
        ] {
            assert_eq!(clean(text, most), shown, "{text:?} {most}");
        }
    }
}
