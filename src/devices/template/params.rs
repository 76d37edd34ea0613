//! Positional and named arguments of a Python-like call.

use std::cell::Cell;

use minijinja::value::{Kwargs, Value, ValueKind, ValueOrKwargs};
use minijinja::{Error, ErrorKind};

use super::display;

/// Steps that the calls of one rendering may take together, each about one comparison of two values. The engine's fuel
/// pays for what it runs itself and for what a call gives back, and does not see what the call did.
const MAX_WORK: usize = 4_000_000;
/// Bytes of text that are read in one step.
pub(super) const BYTES_A_STEP: usize = 16;

thread_local! {
    static DONE: Cell<usize> = const { Cell::new(0) };
}

/// A rendering begins.
pub(super) fn begin() {
    DONE.set(0);
}

/// Takes note of steps before they are done; an error says that there were too many.
pub(super) fn work(steps: usize) -> Result<(), Error> {
    let done = DONE.get().saturating_add(steps);
    DONE.set(done);
    if done > MAX_WORK { Err(ErrorKind::OutOfFuel.into()) } else { Ok(()) }
}

/// Steps that it takes to read a value, or to compare it with another.
pub(super) fn weight(value: &Value) -> usize {
    match value.as_bytes() {
        Some(bytes) => 1 + bytes.len() / BYTES_A_STEP,
        None => value.len().map_or(1, |items| 1 + items),
    }
}

/// The arguments of one call, by the names of its signature.
pub(super) struct Params {
    names: &'static [&'static str],
    values: Vec<Option<Value>>,
    /// Positional arguments beyond the signature.
    pub more: Vec<Value>,
}

impl Params {
    /// Binds `args` to `names`. With `variadic`, more positional arguments than names are kept.
    pub fn bind(names: &'static [&'static str], variadic: bool, args: &[Value]) -> Result<Self, Error> {
        let mut values = vec![None; names.len()];
        let mut more = Vec::new();
        let mut next = 0;
        for arg in args {
            if arg.is_kwargs() {
                let kwargs = Kwargs::try_from(arg.clone())?;
                for name in kwargs.args() {
                    let slot = names.iter().position(|known| *known == name);
                    match slot.and_then(|slot| values.get_mut(slot)) {
                        Some(value) => *value = Some(kwargs.get::<Value>(name)?),
                        None => {
                            return Err(Error::new(
                                ErrorKind::TooManyArguments,
                                format!("no argument {name}"),
                            ));
                        }
                    }
                }
            } else {
                match values.get_mut(next) {
                    Some(value) => *value = Some(arg.clone()),
                    None if variadic => more.push(arg.clone()),
                    None => return Err(ErrorKind::TooManyArguments.into()),
                }
                next += 1;
            }
        }
        Ok(Self { names, values, more })
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.values.get(at)?.as_ref()
    }

    /// A required argument; using something undefined is an error, as in Jinja.
    pub fn need(&self, name: &str) -> Result<&Value, Error> {
        match self.get(name) {
            Some(value) if value.is_undefined() => {
                Err(Error::new(ErrorKind::UndefinedError, format!("{name} is undefined")))
            }
            Some(value) => Ok(value),
            None => Err(Error::new(ErrorKind::MissingArgument, name.to_owned())),
        }
    }

    /// A required argument; something undefined is a value of the wrong type, for functions of Home Assistant's own
    /// that hand it to Python.
    pub fn given(&self, name: &str) -> Result<&Value, Error> {
        self.get(name).ok_or_else(|| Error::new(ErrorKind::MissingArgument, name.to_owned()))
    }

    /// A required argument as `str()`. Something undefined is empty text.
    pub fn text(&self, name: &str) -> Result<String, Error> {
        let value = self.given(name)?;
        work(weight(value))?;
        Ok(display::text(value))
    }

    pub fn text_or(&self, name: &str, default: &str) -> String {
        self.get(name).map_or_else(|| default.to_owned(), display::text)
    }

    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.get(name).map_or(default, Value::is_true)
    }

    pub fn int_or(&self, name: &str, default: i64) -> Result<i64, Error> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => value.as_i64().ok_or_else(|| invalid(name, value)),
        }
    }

    /// The values of an iterable argument.
    pub fn items(&self, name: &str) -> Result<Vec<Value>, Error> {
        items(self.need(name)?)
    }

    /// The `default` argument, or the error that Home Assistant raises without one.
    pub fn default_or(&self, what: &str, value: &Value) -> Result<Value, Error> {
        self.get("default").cloned().ok_or_else(|| invalid(what, value))
    }
}

/// The items of a list, tuple, mapping (its keys) or text (its characters).
pub(super) fn items(value: &Value) -> Result<Vec<Value>, Error> {
    work(value.len().unwrap_or(1))?;
    match value.kind() {
        ValueKind::Undefined => Err(Error::new(ErrorKind::UndefinedError, "undefined is not iterable")),
        ValueKind::String => {
            Ok(value.as_str().unwrap_or_default().chars().map(|c| Value::from(c.to_string())).collect())
        }
        _ => value.try_iter()?.checked().collect(),
    }
}

/// How the text of [`invalid`] begins after what was called: the value in it says nothing about the error's kind.
pub(super) const INVALID: &str = " got invalid input ";

/// Python's `ValueError` or `TypeError`.
pub(super) fn invalid(what: &str, value: &Value) -> Error {
    let shown: String = display::text(value).chars().take(100).collect();
    Error::new(ErrorKind::InvalidOperation, format!("{what}{INVALID}{shown:?}"))
}

/// The raw arguments, named ones among them.
pub(super) fn plain(args: &[ValueOrKwargs]) -> Vec<Value> {
    args.iter().map(|arg| Value::clone(arg)).collect()
}
