//! Small Python objects that templates meet: the views of a mapping, versions, and Home Assistant's absent states.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Value};
use minijinja::{Error, State};

use super::display;

/// `dict_keys([...])`, `dict_values([...])`, `dict_items([...])`, and sets, whose order is that of their making.
#[derive(Debug)]
pub(super) struct View {
    name: &'static str,
    items: Vec<Value>,
}

impl View {
    pub fn value(name: &'static str, items: Vec<Value>) -> Value {
        Value::from_object(Self { name, items })
    }

    pub fn is(&self, name: &str) -> bool {
        self.name == name
    }
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.items.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = display::list(&self.items);
        match (self.name, list.trim_matches(['[', ']'])) {
            ("set", "") => f.write_str("set()"),
            ("set", _) => write!(f, "{{{}}}", list.get(1..list.len() - 1).unwrap_or_default()),
            _ => write!(f, "{}({list})", self.name),
        }
    }
}

/// A version number: sections compare as numbers where both are numbers.
#[derive(Debug)]
pub(super) struct Version(String);

impl Version {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    fn sections(&self) -> Vec<&str> {
        let text = self.0.trim().trim_start_matches(['v', 'V']);
        text.split(['.', '-', '+']).collect()
    }

    /// Sections that are missing count as 0.
    pub fn order(&self, other: &Self) -> Ordering {
        let (first, second) = (self.sections(), other.sections());
        for at in 0..first.len().max(second.len()) {
            let section = |of: &[&str]| of.get(at).copied().unwrap_or("0").to_owned();
            let (a, b) = (section(&first), section(&second));
            let order = match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                // `2.0.0-beta` and `2.0.0b1` come before `2.0.0`.
                (Ok(_), Err(_)) => Ordering::Greater,
                (Err(_), Ok(_)) => Ordering::Less,
                (Err(_), Err(_)) => natural(&a, &b),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }
}

/// Text with a number in it: `0b9` comes before `0b10`.
fn natural(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| {
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (number, rest) = text.split_at(digits);
        let letters: String = rest.chars().take_while(|c| !c.is_ascii_digit()).collect();
        let last = rest.get(letters.len()..).and_then(|last| last.parse::<u64>().ok()).unwrap_or(0);
        (number.parse::<u64>().unwrap_or(0), letters, last)
    };
    parts(a).cmp(&parts(b))
}

impl Object for Version {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let at = match key.as_str()? {
            "string" => return Some(self.0.clone().into()),
            "major" => 0,
            "minor" => 1,
            "patch" => 2,
            _ => return None,
        };
        let sections = self.sections();
        sections.get(at).map(|section| Value::from(*section))
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        Some(self.order(other.downcast_ref::<Version>()?))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Home Assistant's own states, which are not ours to give: `states('a.b')` is unknown, `states.a.b` is none.
#[derive(Debug)]
pub(super) struct States;

#[derive(Debug)]
struct DomainStates;

impl Object for States {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().map(|_| Value::from_object(DomainStates))
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, _: &[Value]) -> Result<Value, Error> {
        Ok("unknown".into())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<template AllStates>")
    }
}

impl Object for DomainStates {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().map(|_| Value::from(()))
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<template DomainStates>")
    }
}
