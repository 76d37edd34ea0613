//! The table of what templates may call.
//!
//! A name is a filter, a function or both, with the parameter names of Home Assistant's own definition. Tests are
//! few and stand at the end.

use std::collections::HashSet;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error};

use super::params::{Params, invalid, plain};
use super::{CompileError, collections, format, numbers, text, time};
use crate::clock::Clock;

pub(super) type Call = fn(&Params) -> Result<Value, Error>;

/// One entry: name, parameters (the first is the filtered value), whether more positional arguments are legal.
pub(super) struct Entry {
    pub name: &'static str,
    pub params: &'static [&'static str],
    pub variadic: bool,
    pub call: Call,
}

pub(super) const fn entry(name: &'static str, params: &'static [&'static str], call: Call) -> Entry {
    Entry { name, params, variadic: false, call }
}

pub(super) const fn variadic(name: &'static str, params: &'static [&'static str], call: Call) -> Entry {
    Entry { name, params, variadic: true, call }
}

/// Names that exist, for the check before compiling.
pub(super) struct Names {
    filters: HashSet<&'static str>,
    tests: HashSet<&'static str>,
}

/// The engine's own filters and tests that stay.
const BUILTIN_FILTERS: &[&str] = &[
    "safe",
    "escape",
    "e",
    "lower",
    "upper",
    "capitalize",
    "replace",
    "length",
    "count",
    "dictsort",
    "items",
    "reverse",
    "trim",
    "join",
    "default",
    "d",
    "abs",
    "attr",
    "first",
    "last",
    "sort",
    "list",
    "string",
    "batch",
    "slice",
    "sum",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
    "map",
    "groupby",
    "unique",
    "pprint",
    "lines",
    "chain",
];
const BUILTIN_TESTS: &[&str] = &[
    "undefined",
    "defined",
    "none",
    "safe",
    "escaped",
    "boolean",
    "odd",
    "even",
    "divisibleby",
    "number",
    "integer",
    "float",
    "string",
    "sequence",
    "iterable",
    "mapping",
    "lower",
    "upper",
    "sameas",
    "eq",
    "equalto",
    "ne",
    "lt",
    "lessthan",
    "le",
    "gt",
    "greaterthan",
    "ge",
    "in",
    "true",
    "false",
    "filter",
    "test",
    "startingwith",
    "endingwith",
];

impl Names {
    pub fn check_filter(&self, name: &str) -> Result<(), CompileError> {
        self.filters
            .contains(name)
            .then_some(())
            .ok_or_else(|| CompileError::Unknown { what: "filter", name: name.into() })
    }

    pub fn check_test(&self, name: &str) -> Result<(), CompileError> {
        self.tests
            .contains(name)
            .then_some(())
            .ok_or_else(|| CompileError::Unknown { what: "test", name: name.into() })
    }
}

/// Registers everything in `environment` and returns the names.
pub(super) fn fill(environment: &mut Environment<'static>, clock: &Clock, zone: chrono_tz::Tz) -> Names {
    for name in ["indent", "split", "zip", "tojson", "debug"] {
        environment.remove_filter(name);
        environment.remove_global(name);
    }
    let mut filters: HashSet<&'static str> = BUILTIN_FILTERS.iter().copied().collect();
    for table in [numbers::TABLE, format::TABLE, text::TABLE, collections::TABLE, time::TABLE] {
        for entry in table {
            filters.insert(entry.name);
            let (params, variadic, call) = (entry.params, entry.variadic, entry.call);
            let function =
                move |args: Rest<ValueOrKwargs>| call(&Params::bind(params, variadic, &plain(&args))?);
            environment.add_filter(entry.name, function);
            environment.add_function(entry.name, function);
        }
    }
    time::local(environment, &mut filters, clock, zone);
    environment.add_global("dict", Value::from_object(collections::DictType));
    environment.add_global("pi", std::f64::consts::PI);
    environment.add_global("e", std::f64::consts::E);
    environment.add_global("tau", std::f64::consts::TAU);
    environment.add_global("inf", f64::INFINITY);
    // Home Assistant's own states are not ours to give.
    for name in ["states", "state_attr", "is_state", "has_value", "expand"] {
        environment.add_function(name, move |_: Rest<ValueOrKwargs>| match name {
            "states" => Value::from("unknown"),
            "is_state" | "has_value" => Value::from(false),
            "expand" => Value::from(Vec::<Value>::new()),
            _ => Value::from(()),
        });
    }
    let mut tests: HashSet<&'static str> = BUILTIN_TESTS.iter().copied().collect();
    fill_tests(environment, &mut tests);
    Names { filters, tests }
}

fn fill_tests(environment: &mut Environment<'static>, tests: &mut HashSet<&'static str>) {
    tests.extend([
        "match",
        "search",
        "list",
        "set",
        "tuple",
        "datetime",
        "string_like",
        "contains",
        "is_number",
    ]);
    environment.add_test("match", |value: &Value, find: &str, ignore_case: Option<bool>| {
        text::find(&value.to_string(), find, ignore_case.unwrap_or(false), true)
    });
    environment.add_test("search", |value: &Value, find: &str, ignore_case: Option<bool>| {
        text::find(&value.to_string(), find, ignore_case.unwrap_or(false), false)
    });
    environment.add_test("list", |value: &Value| value.kind() == ValueKind::Seq && !value.is_tuple());
    environment.add_test("set", |_: &Value| false);
    environment.add_test("tuple", Value::is_tuple);
    environment.add_test("datetime", |value: &Value| value.downcast_object_ref::<time::Moment>().is_some());
    environment.add_test("string_like", |value: &Value| value.as_str().is_some());
    environment.add_test("is_number", numbers::is_number);
    environment.add_test("contains", |value: &Value, item: &Value| -> Result<bool, Error> {
        collections::contains(value, item)
    });
    environment.add_test("iterable", |value: &Value| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String | ValueKind::Undefined
        )
    });
    // Python's bool is no number for a person, but is one for Jinja's test.
    environment
        .add_test("number", |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool));
}

/// An operation that is defined for numbers only.
pub(super) fn integer(what: &str, value: &Value) -> Result<i64, Error> {
    match value.kind() {
        ValueKind::Number | ValueKind::Bool => value
            .as_i64()
            .or_else(|| (value.kind() == ValueKind::Bool).then_some(i64::from(value.is_true())))
            .ok_or_else(|| invalid(what, value)),
        _ => Err(invalid(what, value)),
    }
}
