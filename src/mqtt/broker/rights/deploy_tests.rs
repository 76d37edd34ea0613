//! The access lists for other brokers say the same as the roles here: both files are read and asked line by line, as
//! their broker would ask them.

use super::*;
use crate::mqtt::topics::matches;

const MOSQUITTO: &str = include_str!("../../../../deploy/mosquitto.acl");
const EMQX: &str = include_str!("../../../../deploy/emqx/acl.conf");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Publish,
    /// Subscribes this filter; without wildcards: reads this topic.
    Subscribe,
}

/// `topic` and `filter` level by level; a filter that is asked about must be covered level by level as well.
fn covers(filter: &str, topic: &str) -> bool {
    if topic.contains(['+', '#']) {
        !topic.starts_with('$') && within(topic, filter)
    } else {
        matches(filter, topic)
    }
}

/// What mosquitto says. It looks at a subscription when it delivers, so only topics can be asked about.
fn mosquitto(account: &str, act: Act, topic: &str) -> bool {
    let mut user = None;
    let mut allowed = false;
    for line in MOSQUITTO.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, access, filter) = match words[..] {
            ["user", name] => {
                user = Some(name);
                continue;
            }
            [kind @ ("topic" | "pattern"), access, filter] => (kind, access, filter),
            _ => panic!("no line of an access list: {line}"),
        };
        let right = match access {
            "readwrite" => true,
            "read" => act == Act::Subscribe,
            "write" => act == Act::Publish,
            _ => panic!("no access: {line}"),
        };
        // A pattern counts for everybody, wherever it stands.
        let mine = kind == "pattern" || user == Some(account);
        allowed |= right && mine && covers(&filter.replace("%u", account), topic);
    }
    allowed
}

/// One rule of EMQX: `{allow, Who, Action, Topics}`.
struct Rule {
    allow: bool,
    names: Option<Vec<String>>,
    action: String,
    topics: Vec<String>,
}

fn quoted(text: &str) -> Vec<String> {
    text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn emqx_rules() -> Vec<Rule> {
    let lines = EMQX.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("%%"));
    let rules: Vec<Rule> = lines
        .map(|line| {
            let inner = line.strip_prefix('{').and_then(|line| line.strip_suffix("}.")).expect("a rule");
            if inner == "deny, all" {
                return Rule { allow: false, names: None, action: "all".into(), topics: vec!["#".into()] };
            }
            let (head, topics) = inner.split_once(", [").expect("topics");
            let (permission, rest) = head.split_once(", ").expect("a permission");
            let (who, action) = rest.rsplit_once(", ").expect("an action");
            let names = match who {
                "all" => None,
                _ => {
                    let name = quoted(who).pop().expect("a name");
                    let list = name.strip_prefix("^(").and_then(|name| name.strip_suffix(")$"));
                    assert_eq!(list.is_some(), who.contains("{re, "), "{line}");
                    Some(list.unwrap_or(&name).split('|').map(str::to_owned).collect())
                }
            };
            assert!(
                matches!(permission, "allow" | "deny") && matches!(action, "publish" | "subscribe" | "all")
            );
            Rule { allow: permission == "allow", names, action: action.to_owned(), topics: quoted(topics) }
        })
        .collect();
    assert!(
        rules.len() > 10 && rules.last().is_some_and(|last| !last.allow),
        "what no rule allows is refused"
    );
    rules
}

/// What EMQX says: the first rule that matches.
fn emqx(account: &str, act: Act, topic: &str) -> bool {
    let word = if act == Act::Publish { "publish" } else { "subscribe" };
    let rule = emqx_rules().into_iter().find(|rule| {
        rule.names.as_ref().is_none_or(|names| names.iter().any(|name| name == account))
            && (rule.action == "all" || rule.action == word)
            && rule.topics.iter().any(|filter| covers(&filter.replace("${username}", account), topic))
    });
    rule.is_some_and(|rule| rule.allow)
}

fn role(account: &str) -> Option<Role> {
    Some(match account {
        "agent" => Role::Agent,
        "anna" => Role::Person,
        "boris" => Role::Approver,
        "panel" => Role::ReadOnly,
        "bridge" => {
            Role::Device(DeviceRights { trees: vec!["zigbee2mqtt".into()], announces: Announces::Anything })
        }
        "plug" | "lock" => Role::Device(DeviceRights::own(account)),
        // No account of the embedded broker: Home Assistant brings a broker of its own, or speaks as a person.
        _ => return None,
    })
}

const ACCOUNTS: [&str; 8] = ["agent", "anna", "boris", "homeassistant", "panel", "bridge", "plug", "lock"];

const TOPICS: [&str; 27] = [
    "homeloop/home/command",
    "homeloop/home/stop",
    "homeloop/home/pause",
    "homeloop/home/chat/c1",
    "homeloop/home/chat/c1/x",
    "homeloop/home/voice/hall/audio",
    "homeloop/home/voice/hall/speech",
    "homeloop/home/approval/01K",
    "homeloop/home/approval/01K/decision",
    "homeloop/home/approval/a/b/decision",
    "homeloop/home/result",
    "homeloop/home/status",
    "homeloop/home",
    "homeloop/other/command",
    "plug/state",
    "plug",
    "plugs/state",
    "lock/set",
    "zigbee2mqtt/lamp/set",
    "zigbee2mqtt/bridge/request/permit_join",
    "homeassistant/switch/plug/config",
    "homeassistant/switch/plug/relay/config",
    "homeassistant/switch/plug/a/b/config",
    "homeassistant/switch/lock/config",
    "homeassistant/status",
    "stranger/state",
    "$SYS/broker/version",
];

/// Where the lists are wider than the roles, and harmless: every account, also a person's, has the tree of its own name
/// and hears when Home Assistant starts.
fn is_wider(role: &Role, act: Act, topic: &str) -> bool {
    let person = matches!(role, Role::Person | Role::Approver);
    person && act == Act::Subscribe && topic == "homeassistant/status"
}

#[test]
fn the_access_lists_of_mosquitto_and_emqx_say_what_the_roles_say() {
    let (mut asked, mut allowed) = (0, 0);
    for account in ACCOUNTS {
        for topic in TOPICS {
            for act in [Act::Publish, Act::Subscribe] {
                let lists = (mosquitto(account, act, topic), emqx(account, act, topic));
                assert_eq!(lists.0, lists.1, "mosquitto, EMQX: {account} {act:?} {topic}");
                asked += 1;
                allowed += usize::from(lists.0);
                let Some(role) = role(account) else { continue };
                let own = match act {
                    Act::Publish => rights().may_publish(account, &role, topic),
                    Act::Subscribe => rights().may_subscribe(account, &role, topic),
                };
                let same = lists.0 == own || (lists.0 && is_wider(&role, act, topic));
                assert!(same, "lists {}, role {own}: {account} {act:?} {topic}", lists.0);
            }
        }
    }
    assert!(allowed > 60 && allowed < asked / 2, "{allowed} of {asked}");
}

/// Filters with wildcards: EMQX decides about them when they are subscribed, as the embedded broker does.
#[test]
fn emqx_takes_no_wider_subscription_than_the_roles() {
    for account in ACCOUNTS {
        let Some(role) = role(account) else { continue };
        for filter in [
            "#",
            "+/#",
            "+/state",
            "homeloop/#",
            "homeloop/home/#",
            "homeloop/home/approval/+",
            "plug/#",
            "plug/+/state",
            "plug/+",
            "lock/#",
            "zigbee2mqtt/#",
            "zigbee2mqtt/+/set",
            "homeassistant/#",
            "$SYS/#",
        ] {
            let own = rights().may_subscribe(account, &role, filter);
            assert_eq!(emqx(account, Act::Subscribe, filter), own, "{account} {filter}");
        }
    }
}

/// No name that an account can have opens the tree of homeloop, or another account's, to it.
#[test]
fn no_name_of_an_account_reaches_further_in_emqx() {
    for account in ["homeloop", "lamp", "homeassistant-2", "agent2", "annan"] {
        for act in [Act::Publish, Act::Subscribe] {
            for topic in ["homeloop/home/command", "homeloop/home/approval/01K/decision", "plug/state", "#"] {
                assert!(!emqx(account, act, topic), "{account} {act:?} {topic}");
            }
        }
    }
}
