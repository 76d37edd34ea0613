//! Lists, mappings and choices.

use std::sync::Arc;

use minijinja::value::{Object, ObjectRepr, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::params::{Params, invalid, items};
use super::registry::{Entry, entry, variadic};

pub(super) const TABLE: &[Entry] = &[
    entry("iif", &["value", "if_true", "if_false", "if_none"], iif),
    variadic("zip", &[], zip),
    entry("contains", &["value", "item"], |p| contains(p.need("value")?, p.need("item")?).map(Value::from)),
    variadic("combine", &["value"], combine),
    entry("typeof", &["value"], type_of),
    entry("set", &["value"], |p| Ok(distinct(p.items("value")?).into())),
    entry("tuple", &["value"], |p| Ok(Value::from(Tuple::new(p.items("value")?)))),
    entry("flatten", &["value", "levels"], flatten),
    entry("intersect", &["value", "other"], |p| sets(p, |first, second| keep(first, second, true))),
    entry("difference", &["value", "other"], |p| sets(p, |first, second| keep(first, second, false))),
    entry("union", &["value", "other"], |p| {
        sets(p, |first, second| first.iter().chain(second).cloned().collect())
    }),
    entry("symmetric_difference", &["value", "other"], |p| {
        sets(p, |first, second| {
            keep(first, second, false).into_iter().chain(keep(second, first, false)).collect()
        })
    }),
    entry("list", &["value"], list),
    entry("enumerate", &["value", "start"], enumerate),
];

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
    if let (Some(text), Some(part)) = (value.as_str(), item.as_str()) {
        return Ok(text.contains(part));
    }
    Ok(items(value)?.contains(item))
}

fn combine(p: &Params) -> Result<Value, Error> {
    let mut merged: Vec<(Value, Value)> = Vec::new();
    for map in std::iter::once(p.need("value")?).chain(&p.more) {
        if map.kind() != ValueKind::Map {
            return Err(invalid("combine", map));
        }
        for key in items(map)? {
            let value = map.get_item(&key)?;
            match merged.iter_mut().find(|(known, _)| *known == key) {
                Some((_, slot)) => *slot = value,
                None => merged.push((key, value)),
            }
        }
    }
    Ok(Value::from_pairs(merged))
}

fn type_of(p: &Params) -> Result<Value, Error> {
    let value = p.need("value")?;
    let name = match value.kind() {
        ValueKind::None => "NoneType",
        ValueKind::Bool => "bool",
        ValueKind::Number if value.is_integer() => "int",
        ValueKind::Number => "float",
        ValueKind::String => "str",
        ValueKind::Bytes => "bytes",
        ValueKind::Seq if value.is_tuple() => "tuple",
        ValueKind::Seq | ValueKind::Iterable => "list",
        ValueKind::Map => "dict",
        _ => "object",
    };
    Ok(name.into())
}

fn distinct(items: Vec<Value>) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::with_capacity(items.len());
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

fn keep(first: &[Value], second: &[Value], wanted: bool) -> Vec<Value> {
    first.iter().filter(|item| second.contains(item) == wanted).cloned().collect()
}

fn sets(p: &Params, with: fn(&[Value], &[Value]) -> Vec<Value>) -> Result<Value, Error> {
    Ok(distinct(with(&p.items("value")?, &p.items("other")?)).into())
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
    let start = p.int_or("start", 0)?;
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
