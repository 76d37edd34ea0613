//! The table of what templates may call.
//!
//! A name is a filter, a function or both, with the parameter names of Home Assistant's own definition. Tests are
//! few and stand at the end.

use std::collections::HashSet;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error};

use super::moment::{Moment, Span};
use super::params::{Params, plain};
use super::views::{States, Version};
use super::{CompileError, codes, collections, format, numbers, operators, ordering, patterns, text, time};
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
    let tables = [
        numbers::TABLE,
        text::TABLE,
        codes::TABLE,
        patterns::TABLE,
        collections::TABLE,
        ordering::TABLE,
        operators::TABLE,
        time::TABLE,
    ];
    for table in tables {
        for entry in table {
            filters.insert(entry.name);
            let (params, variadic, call) = (entry.params, entry.variadic, entry.call);
            let function =
                move |args: Rest<ValueOrKwargs>| call(&Params::bind(params, variadic, &plain(&args))?);
            environment.add_filter(entry.name, function);
            environment.add_function(entry.name, function);
        }
    }
    collections::special(environment, &mut filters, clock);
    ordering::fill(environment);
    filters.extend(["min", "max", "format"]);
    time::local(environment, &mut filters, clock, zone);
    environment.add_filter("format", format::filter);
    environment.add_global("dict", Value::from_object(collections::DictType));
    environment.add_global("pi", std::f64::consts::PI);
    environment.add_global("e", std::f64::consts::E);
    environment.add_global("tau", std::f64::consts::TAU);
    absent(environment);
    let mut tests: HashSet<&'static str> = BUILTIN_TESTS.iter().copied().collect();
    fill_tests(environment, &mut tests);
    Names { filters, tests }
}

/// Home Assistant's own states, devices and areas, which are not ours to give.
fn absent(environment: &mut Environment<'static>) {
    environment.add_global("states", Value::from_object(States));
    environment.add_function("state_translated", |_: Rest<ValueOrKwargs>| "unknown");
    for name in ["is_state", "is_state_attr", "has_value", "is_device_attr"] {
        environment.add_function(name, |_: Rest<ValueOrKwargs>| false);
    }
    for name in [
        "state_attr",
        "device_attr",
        "device_id",
        "device_name",
        "area_id",
        "area_name",
        "floor_id",
        "floor_name",
        "label_id",
        "label_name",
        "config_entry_id",
        "closest",
        "distance",
    ] {
        environment.add_function(name, |_: Rest<ValueOrKwargs>| Value::from(()));
    }
    for name in [
        "expand",
        "areas",
        "floors",
        "labels",
        "device_entities",
        "area_entities",
        "area_devices",
        "floor_areas",
        "floor_entities",
        "label_entities",
        "label_devices",
        "label_areas",
        "integration_entities",
    ] {
        environment.add_function(name, |_: Rest<ValueOrKwargs>| Value::from(Vec::<Value>::new()));
    }
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
        "callable",
        "has_value",
    ]);
    for (name, at_start) in [("match", true), ("search", false)] {
        environment.add_test(name, move |args: Rest<ValueOrKwargs>| -> Result<bool, Error> {
            let p = Params::bind(&["value", "find", "ignorecase"], false, &plain(&args))?;
            patterns::find(&p.text("value")?, &p.text_or("find", ""), p.flag("ignorecase", false), at_start)
        });
    }
    environment.add_test("list", |value: &Value| value.kind() == ValueKind::Seq && !value.is_tuple());
    environment.add_test("set", collections::is_set);
    environment.add_test("tuple", Value::is_tuple);
    environment.add_test("datetime", |value: &Value| value.downcast_object_ref::<Moment>().is_some());
    environment.add_test("string_like", |value: &Value| value.as_str().is_some());
    environment.add_test("has_value", |_: &Value| false);
    environment.add_test("is_number", numbers::is_number);
    environment.add_test("callable", |value: &Value| {
        let other = value.downcast_object_ref::<Moment>().is_some()
            || value.downcast_object_ref::<Span>().is_some()
            || value.downcast_object_ref::<Version>().is_some();
        value.kind() == ValueKind::Plain && !other
    });
    environment.add_test("contains", |value: &Value, item: &Value| -> Result<bool, Error> {
        collections::contains(value, item)
    });
    environment.add_test("iterable", |value: &Value| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String | ValueKind::Undefined
        )
    });
    environment.add_test("sequence", |value: &Value| {
        matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Undefined)
    });
    // Python's bool is no number for a person, but is one for Jinja's test.
    environment
        .add_test("number", |value: &Value| matches!(value.kind(), ValueKind::Number | ValueKind::Bool));
}
