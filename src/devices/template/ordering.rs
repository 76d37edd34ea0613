//! `sort`, `min`, `max` and what else depends on Python's order.

use std::cmp::Ordering;

use minijinja::value::{Kwargs, Rest, Value, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind};

use super::collections::attribute;
use super::operators::compare;
use super::params::{Params, items, plain, weight, work};
use super::registry::{Entry, entry, variadic};

pub(super) const TABLE: &[Entry] = &[
    entry("sort", &["value", "reverse", "case_sensitive", "attribute"], sort),
    variadic("statistical_mode", &["value", "default"], mode),
];

/// Registers `min`, `max` and the tests that compare.
pub(super) fn fill(environment: &mut Environment<'static>) {
    for (name, wanted) in [("min", Ordering::Less), ("max", Ordering::Greater)] {
        let function = move |args: Rest<ValueOrKwargs>| extreme(&plain(&args), wanted);
        environment.add_filter(name, function);
        environment.add_function(name, function);
    }
    type Test = fn(Ordering) -> bool;
    let tests: [(&[&str], Test); 4] = [
        (&["lt", "lessthan", "<"], Ordering::is_lt),
        (&["le", "<="], Ordering::is_le),
        (&["gt", "greaterthan", ">"], Ordering::is_gt),
        (&["ge", ">="], Ordering::is_ge),
    ];
    for (names, test) in tests {
        for name in names {
            environment.add_test(*name, move |a: &Value, b: &Value| -> Result<bool, Error> {
                Ok(compare("comparison", a, b)?.is_some_and(test))
            });
        }
    }
}

/// What a value is ordered by: an attribute of it, and text without regard to case.
fn key(item: &Value, path: Option<&Value>, case_sensitive: bool) -> Result<Value, Error> {
    let found = match path {
        Some(path) => attribute(item, path)?,
        None => item.clone(),
    };
    Ok(match found.as_str() {
        Some(text) if !case_sensitive => text.to_lowercase().into(),
        _ => found,
    })
}

fn sort(p: &Params) -> Result<Value, Error> {
    let value = p.given("value")?;
    if value.is_undefined() {
        return Ok(Vec::<Value>::new().into());
    }
    let path = p.get("attribute").filter(|path| !path.is_none());
    // `attribute="a,b"` sorts by both.
    let paths: Vec<Option<Value>> = match path.and_then(Value::as_str) {
        Some(text) => text.split(',').map(|path| Some(path.into())).collect(),
        None => vec![path.cloned()],
    };
    let mut keyed: Vec<Keyed> = Vec::new();
    for item in items(value)? {
        let keys: Result<Vec<Value>, Error> =
            paths.iter().map(|path| key(&item, path.as_ref(), p.flag("case_sensitive", false))).collect();
        keyed.push((keys?, item));
    }
    let reverse = p.flag("reverse", false);
    let before = |a: &Keyed, b: &Keyed| {
        by_all(&a.0, &b.0).map(|order| order == if reverse { Ordering::Greater } else { Ordering::Less })
    };
    let sorted = merge_sort(keyed, &before)?;
    Ok(sorted.into_iter().map(|(_, item)| item).collect::<Vec<_>>().into())
}

/// An item with its keys.
type Keyed = (Vec<Value>, Value);

/// A stable sort. The standard one panics where an order contradicts itself, as NaN makes Python's do.
fn merge_sort(
    mut list: Vec<Keyed>,
    before: &impl Fn(&Keyed, &Keyed) -> Result<bool, Error>,
) -> Result<Vec<Keyed>, Error> {
    if list.len() < 2 {
        return Ok(list);
    }
    let second = list.split_off(list.len() / 2);
    let mut first = merge_sort(list, before)?.into_iter().peekable();
    let mut second = merge_sort(second, before)?.into_iter().peekable();
    let mut out = Vec::with_capacity(first.len() + second.len());
    loop {
        let later = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) => before(b, a)?,
            (Some(_), None) => false,
            (None, _) => true,
        };
        match if later { second.next() } else { first.next() } {
            Some(item) => out.push(item),
            None => return Ok(out),
        }
    }
}

fn by_all(a: &[Value], b: &[Value]) -> Result<Ordering, Error> {
    for (a, b) in a.iter().zip(b) {
        match compare("<", a, b)? {
            None | Some(Ordering::Equal) => {}
            Some(order) => return Ok(order),
        }
    }
    Ok(Ordering::Equal)
}

/// `min` and `max` of a list or of the arguments; undefined for an empty list.
fn extreme(args: &[Value], wanted: Ordering) -> Result<Value, Error> {
    let (named, plain): (Vec<&Value>, Vec<&Value>) = args.iter().partition(|arg| arg.is_kwargs());
    let named = named.first().map(|named| Kwargs::try_from((*named).clone())).transpose()?;
    let case_sensitive =
        named.as_ref().and_then(|named| named.get::<bool>("case_sensitive").ok()).unwrap_or(false);
    let path = named.as_ref().and_then(|named| named.get::<Value>("attribute").ok());
    let list = match plain.as_slice() {
        [] => return Err(ErrorKind::MissingArgument.into()),
        [one] if one.is_undefined() => return Ok(Value::UNDEFINED),
        [one] => items(one)?,
        several => several.iter().copied().cloned().collect(),
    };
    let mut best: Option<(Value, Value)> = None;
    for item in list {
        let key = key(&item, path.as_ref(), case_sensitive)?;
        let better = match &best {
            None => true,
            Some((so_far, _)) => compare("<", &key, so_far)? == Some(wanted),
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

/// The value that occurs most often, the first of them.
fn mode(p: &Params) -> Result<Value, Error> {
    let first = p.given("value")?;
    let list = if p.more.is_empty() && first.try_iter().is_ok() && !first.is_undefined()
        || first.as_str().is_some()
    {
        items(first)?
    } else {
        std::iter::once(first).chain(p.get("default")).chain(&p.more).cloned().collect()
    };
    let mut counted: Vec<(Value, usize)> = Vec::new();
    for item in list {
        work(counted.len().saturating_mul(weight(&item)))?;
        match counted.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => counted.push((item, 1)),
        }
    }
    let most = counted.iter().map(|(_, count)| *count).max();
    match counted.into_iter().find(|(_, count)| Some(*count) == most) {
        Some((item, _)) => Ok(item),
        None => p.default_or("statistical_mode", first),
    }
}
