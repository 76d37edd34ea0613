//! Lists, mappings and choices.

use std::collections::HashSet;
use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Rest, Tuple, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State};

use super::moment::{Moment, Span};
use super::params::{Params, invalid, items, plain, weight, work};
use super::registry::{Entry, entry, variadic};
use super::views::View;
use crate::clock::Clock;

pub(super) const TABLE: &[Entry] = &[
    entry("iif", &["value", "if_true", "if_false", "if_none"], iif),
    variadic("zip", &[], zip),
    entry("contains", &["value", "item"], |p| contains(p.given("value")?, p.need("item")?).map(Value::from)),
    entry("typeof", &["value"], |p| Ok(type_name(p.given("value")?).into())),
    entry("set", &["value"], |p| {
        Ok(View::value("set", distinct(p.get("value").map_or_else(|| Ok(Vec::new()), items)?)?))
    }),
    entry("tuple", &["value"], |p| Ok(Value::from(Tuple::new(p.items("value")?)))),
    entry("flatten", &["value", "levels"], flatten),
    entry("intersect", &["value", "other"], |p| sets(p, |first, second| keep(first, second, true))),
    entry("difference", &["value", "other"], |p| sets(p, |first, second| keep(first, second, false))),
    entry("union", &["value", "other"], |p| {
        sets(p, |first, second| Ok(first.iter().chain(second).cloned().collect()))
    }),
    entry("symmetric_difference", &["value", "other"], |p| {
        sets(p, |first, second| {
            Ok(keep(first, second, false)?.into_iter().chain(keep(second, first, false)?).collect())
        })
    }),
    entry("list", &["value"], list),
    entry("enumerate", &["value", "start"], enumerate),
];

/// What needs the engine's state, the clock, or its own reading of the arguments.
pub(super) fn special(
    environment: &mut Environment<'static>,
    filters: &mut HashSet<&'static str>,
    clock: &Clock,
) {
    let combine = |args: Rest<ValueOrKwargs>| combine(&plain(&args));
    environment.add_filter("combine", combine);
    environment.add_function("combine", combine);
    environment.add_filter("map", map);
    let random = clock.clone();
    environment.add_filter("random", move |value: Value| -> Result<Value, Error> {
        let list = items(&value)?;
        let at = below(&random, list.len()).ok_or_else(|| invalid("random", &value))?;
        Ok(list.get(at).cloned().unwrap_or_default())
    });
    let random = clock.clone();
    let shuffle = move |args: Rest<ValueOrKwargs>| shuffle(&plain(&args), &random);
    environment.add_filter("shuffle", shuffle.clone());
    environment.add_function("shuffle", shuffle);
    filters.extend(["combine", "map", "random", "shuffle"]);
}

/// A random number below `length`.
fn below(clock: &Clock, length: usize) -> Option<usize> {
    let length = u64::try_from(length).ok()?;
    usize::try_from(clock.random().checked_rem(length)?).ok()
}

/// Shuffles a list. A seed makes no order of Python's own: its generator is not ours.
fn shuffle(args: &[Value], clock: &Clock) -> Result<Value, Error> {
    let args: Vec<&Value> = args.iter().filter(|arg| !arg.is_kwargs()).collect();
    let mut list = match args.as_slice() {
        [] => return Err(ErrorKind::MissingArgument.into()),
        [first, ..] if first.try_iter().is_ok() && first.as_str().is_none() => items(first)?,
        [one] => return Err(invalid("shuffle", one)),
        several => several.iter().copied().cloned().collect(),
    };
    for end in (1..list.len()).rev() {
        list.swap(end, below(clock, end + 1).unwrap_or(0));
    }
    Ok(list.into())
}

/// Jinja's `map`: a filter by name with its arguments, or an attribute with a default.
fn map(state: &mut State, value: Value, args: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let list = if value.is_undefined() { Vec::new() } else { items(&value)? };
    let args = plain(&args);
    let mapped: Result<Vec<Value>, Error> = match args.split_first() {
        Some((name, rest)) if name.as_str().is_some() => {
            let name = name.as_str().unwrap_or_default();
            list.into_iter()
                .map(|item| {
                    let all: Vec<Value> = std::iter::once(item).chain(rest.iter().cloned()).collect();
                    state.apply_filter(name, &all)
                })
                .collect()
        }
        Some((named, [])) if named.is_kwargs() => {
            let path = named.get_attr("attribute")?;
            let default = named.get_attr("default")?;
            list.iter()
                .map(|item| {
                    let found = attribute(item, &path)?;
                    Ok(if found.is_undefined() { default.clone() } else { found })
                })
                .collect()
        }
        _ => Err(ErrorKind::MissingArgument.into()),
    };
    mapped.map(Value::from)
}

/// What `attribute=` names: a key, an index, or a path of them.
pub(super) fn attribute(item: &Value, path: &Value) -> Result<Value, Error> {
    let Some(text) = path.as_str() else { return item.get_item(path) };
    let mut found = item.clone();
    for step in text.split('.') {
        found = match step.parse::<u32>() {
            Ok(index) => found.get_item(&index.into())?,
            Err(_) => found.get_attr(step)?,
        };
    }
    Ok(found)
}

fn iif(p: &Params) -> Result<Value, Error> {
    let value = p.get("value").cloned().unwrap_or(Value::UNDEFINED);
    if value.is_none()
        && let Some(if_none) = p.get("if_none")
    {
        return Ok(if_none.clone());
    }
    let (name, otherwise) = if value.is_true() { ("if_true", true) } else { ("if_false", false) };
    Ok(p.get(name).cloned().unwrap_or_else(|| otherwise.into()))
}

fn zip(p: &Params) -> Result<Value, Error> {
    let lists = p.more.iter().map(items).collect::<Result<Vec<_>, _>>()?;
    let length = lists.iter().map(Vec::len).min().unwrap_or(0);
    let rows = (0..length)
        .map(|at| Value::from(Tuple::new(lists.iter().filter_map(|list| list.get(at).cloned()).collect())));
    Ok(rows.collect::<Vec<_>>().into())
}

pub(super) fn contains(value: &Value, item: &Value) -> Result<bool, Error> {
    if value.is_undefined() {
        return Ok(false);
    }
    if let (Some(text), Some(part)) = (value.as_str(), item.as_str()) {
        return Ok(text.contains(part));
    }
    Ok(items(value)?.contains(item))
}

/// `combine(a, b, …, recursive=False)`: later mappings win.
fn combine(args: &[Value]) -> Result<Value, Error> {
    let (named, maps): (Vec<&Value>, Vec<&Value>) = args.iter().partition(|arg| arg.is_kwargs());
    let recursive = named.iter().any(|named| named.get_attr("recursive").is_ok_and(|flag| flag.is_true()));
    let Some((first, rest)) = maps.split_first() else { return Err(ErrorKind::MissingArgument.into()) };
    if let Some(odd) = maps.iter().find(|map| map.kind() != ValueKind::Map) {
        return Err(invalid("combine", odd));
    }
    rest.iter().try_fold((*first).clone(), |merged, map| merge(&merged, map, recursive, 0))
}

fn merge(first: &Value, second: &Value, recursive: bool, depth: usize) -> Result<Value, Error> {
    let mut merged: Vec<(Value, Value)> = Vec::new();
    for key in items(first)? {
        let value = first.get_item(&key)?;
        merged.push((key, value));
    }
    for key in items(second)? {
        work(merged.len())?;
        let value = second.get_item(&key)?;
        match merged.iter_mut().find(|(known, _)| *known == key) {
            Some((_, slot)) => {
                let maps = slot.kind() == ValueKind::Map && value.kind() == ValueKind::Map;
                *slot = if recursive && maps && depth < MAX_DEPTH {
                    merge(slot, &value, true, depth + 1)?
                } else {
                    value
                };
            }
            None => merged.push((key, value)),
        }
    }
    Ok(Value::from_pairs(merged))
}

/// Mappings within mappings that are merged.
const MAX_DEPTH: usize = 16;

/// The name of a value's Python type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "LoggingUndefined",
        ValueKind::None => "NoneType",
        ValueKind::Bool => "bool",
        ValueKind::Number if value.is_integer() => "int",
        ValueKind::Number => "float",
        ValueKind::String => "str",
        ValueKind::Bytes => "bytes",
        ValueKind::Seq if value.is_tuple() => "tuple",
        ValueKind::Iterable if is_set(value) => "set",
        ValueKind::Seq | ValueKind::Iterable => "list",
        ValueKind::Map => "dict",
        _ if value.downcast_object_ref::<Moment>().is_some() => "datetime",
        _ if value.downcast_object_ref::<Span>().is_some() => "timedelta",
        _ => "object",
    }
}

pub(super) fn is_set(value: &Value) -> bool {
    value.downcast_object_ref::<View>().is_some_and(|view| view.is("set"))
}

/// Whether `item` is in `list`, at the price of the comparisons that this may take.
fn is_in(list: &[Value], item: &Value) -> Result<bool, Error> {
    work(list.len().saturating_mul(weight(item)))?;
    Ok(list.contains(item))
}

fn distinct(items: Vec<Value>) -> Result<Vec<Value>, Error> {
    let mut seen: Vec<Value> = Vec::new();
    for item in items {
        if !is_in(&seen, &item)? {
            seen.push(item);
        }
    }
    Ok(seen)
}

fn keep(first: &[Value], second: &[Value], wanted: bool) -> Result<Vec<Value>, Error> {
    let mut kept = Vec::new();
    for item in first {
        if is_in(second, item)? == wanted {
            kept.push(item.clone());
        }
    }
    Ok(kept)
}

/// An operation on two sets.
type OfSets = fn(&[Value], &[Value]) -> Result<Vec<Value>, Error>;

fn sets(p: &Params, with: OfSets) -> Result<Value, Error> {
    Ok(distinct(with(&p.items("value")?, &p.items("other")?)?)?.into())
}

fn flatten(p: &Params) -> Result<Value, Error> {
    let levels = match p.get("levels") {
        Some(levels) if !levels.is_none() => p.int_or("levels", 0)?,
        _ => 16,
    };
    fn walk(items: Vec<Value>, levels: i64, out: &mut Vec<Value>) -> Result<(), Error> {
        for item in items {
            if matches!(item.kind(), ValueKind::Seq | ValueKind::Iterable) && levels > 0 {
                walk(super::params::items(&item)?, levels - 1, out)?;
            } else {
                out.push(item);
            }
        }
        Ok(())
    }
    if p.need("value")?.as_str().is_some() {
        return Err(invalid("flatten", p.need("value")?));
    }
    let mut out = Vec::new();
    walk(p.items("value")?, levels.min(16), &mut out)?;
    Ok(out.into())
}

/// Jinja's `list`: undefined gives an empty list.
fn list(p: &Params) -> Result<Value, Error> {
    match p.get("value") {
        Some(value) if !value.is_undefined() => items(value).map(Value::from),
        _ => Ok(Vec::<Value>::new().into()),
    }
}

fn enumerate(p: &Params) -> Result<Value, Error> {
    // Wide enough to count on from any start.
    let start = i128::from(p.int_or("start", 0)?);
    let rows = p.items("value")?.into_iter().zip(start..);
    Ok(rows.map(|(item, at)| Value::from(Tuple::new(vec![at.into(), item]))).collect::<Vec<_>>().into())
}

/// Python's `dict`: callable, with `from_keys` as Home Assistant's templates have it.
#[derive(Debug)]
pub(super) struct DictType;

impl Object for DictType {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let mut pairs: Vec<(Value, Value)> = Vec::new();
        for arg in args {
            if arg.kind() == ValueKind::Map {
                for key in items(arg)? {
                    let value = arg.get_item(&key)?;
                    pairs.push((key, value));
                }
            } else {
                pairs.extend(pairs_of(arg)?);
            }
        }
        Ok(Value::from_pairs(pairs))
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        match (method, args) {
            ("from_keys", [pairs]) => Ok(Value::from_pairs(pairs_of(pairs)?)),
            ("fromkeys", [keys, rest @ ..]) => {
                let value = rest.first().cloned().unwrap_or(Value::from(()));
                Ok(Value::from_pairs(items(keys)?.into_iter().map(|key| (key, value.clone()))))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// A list of two-item lists as key and value.
fn pairs_of(list: &Value) -> Result<Vec<(Value, Value)>, Error> {
    items(list)?
        .iter()
        .map(|pair| match items(pair)?.as_slice() {
            [key, value] => Ok((key.clone(), value.clone())),
            _ => Err(invalid("dict", pair)),
        })
        .collect()
}
