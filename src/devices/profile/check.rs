//! The checks of a profile file, each error with its line. What is checked here cannot fail for one entity only.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;

use super::Profile;
use super::format::{
    ActionFile, Bound, FieldFile, Options, ParameterKind, ProfileFile, ReportFile, SendFile,
};
use super::parameters::{JsonTemplate, Parameter, Template};
use crate::devices::file_error::{FileError, Source};
use crate::home::{Arg, Domain, Verb};

/// A file with its declared parameters, while it is checked.
struct Check<'a> {
    source: Source<'a>,
    parameters: BTreeMap<String, Parameter>,
}

/// Checks everything but the examples' results.
pub(super) fn checked(source: Source<'_>, file: ProfileFile) -> Result<Profile, FileError> {
    let mut parameters = BTreeMap::new();
    for (name, parameter) in &file.parameters {
        let declared = Parameter::declare(parameter.get_ref())
            .map_err(|why| source.error(parameter.span(), format!("parameter {name:?}: {why}")))?;
        parameters.insert(name.clone(), declared);
    }
    let check = Check { source, parameters };
    let domain = match Domain::from_word(file.domain.get_ref()) {
        Domain::Other => {
            let message = format!("{:?} is no domain; expected one like light", file.domain.get_ref());
            return Err(source.error(file.domain.span(), message));
        }
        domain => domain,
    };
    if file.about.get_ref().trim().is_empty() {
        return Err(source.error(file.about.span(), "about is empty; say in one sentence what speaks so"));
    }
    for report in &file.report {
        check.report(report)?;
    }
    for availability in &file.availability {
        check.template(&availability.topic)?;
        check.when(availability.when.as_ref())?;
        availability.path.as_ref().map_or(Ok(()), |path| check.template(path))?;
    }
    for action in &file.action {
        check.action(action)?;
    }
    check.examples(&file)?;
    Ok(Profile {
        name: file.profile.get_ref().clone(),
        domain,
        about: file.about.get_ref().clone(),
        parameters: check.parameters,
        file,
    })
}

impl Check<'_> {
    fn fail<T>(&self, span: Range<usize>, message: impl Into<String>) -> Result<T, FileError> {
        Err(self.source.error(span, message))
    }

    fn template(&self, text: &Spanned<String>) -> Result<(), FileError> {
        match Template::parse(text.get_ref(), &self.parameters) {
            Ok(_) => Ok(()),
            Err(why) => self.fail(text.span(), why),
        }
    }

    fn when(&self, when: Option<&Spanned<String>>) -> Result<(), FileError> {
        match when {
            Some(name) if !self.parameters.contains_key(name.get_ref()) => {
                self.fail(name.span(), format!("when = {:?} is no parameter of this profile", name.get_ref()))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn bound(&self, span: Range<usize>, bound: &Bound) -> Result<(), FileError> {
        match bound {
            Bound::Number(number) if number.is_finite() => Ok(()),
            Bound::Number(number) => {
                self.fail(span, format!("{number} is no bound; expected a finite number"))
            }
            Bound::Parameter(name) => match self.parameters.get(name) {
                Some(parameter) if parameter.kind == ParameterKind::Number => Ok(()),
                Some(_) | None => self.fail(span, format!("{name:?} is no number parameter of this profile")),
            },
        }
    }

    fn report(&self, report: &ReportFile) -> Result<(), FileError> {
        self.template(&report.topic)?;
        self.when(report.when.as_ref())?;
        let Some(first) = report.read.first() else {
            return self.fail(report.topic.span(), "this report reads nothing; give read = [{ to = … }]");
        };
        for field in &report.read {
            let read = field.get_ref();
            let Some(to) = &read.to else {
                return self.fail(field.span(), "a read needs to = \"value\" or the name of an attribute");
            };
            if read.arg.is_some() {
                return self.fail(field.span(), "arg belongs to the fields of an action; a read has to");
            }
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            if to.get_ref().is_empty() || !to.get_ref().bytes().all(plain) {
                return self.fail(to.span(), format!("{:?} is no attribute name", to.get_ref()));
            }
            if read.path.is_some() != first.get_ref().path.is_some() {
                return self
                    .fail(field.span(), "either all reads of a report have a path (JSON) or none (text)");
            }
            self.field(field)?;
        }
        Ok(())
    }

    fn field(&self, field: &Spanned<FieldFile>) -> Result<(), FileError> {
        let file = field.get_ref();
        self.when(file.when.as_ref())?;
        file.path.as_ref().map_or(Ok(()), |path| self.template(path))?;
        let ways = [file.map.is_some(), file.ranges.is_some(), file.scale.is_some(), file.convert.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            return self.fail(field.span(), "give one of map, ranges, scale and convert, not several");
        }
        for (from, to) in file.map.iter().flatten() {
            if !to.is_str() {
                return self.fail(field.span(), format!("map: {from:?} goes to {to}; expected text"));
            }
        }
        for ends in file.ranges.iter().flat_map(|ranges| ranges.windows(2)) {
            if let [low, high] = ends
                && low.up_to >= high.up_to
            {
                return self.fail(field.span(), "the ends of ranges must rise");
            }
        }
        for bound in file.scale.iter().flat_map(|scale| scale.from.iter().chain(&scale.to)) {
            self.bound(field.span(), bound)?;
        }
        Ok(())
    }

    fn action(&self, action: &ActionFile) -> Result<(), FileError> {
        if Verb::from_word(action.verb.get_ref()).is_none() {
            let known = Verb::ALL.iter().map(|verb| verb.word()).collect::<Vec<_>>().join(", ");
            let message = format!("{:?} is no verb; expected one of {known}", action.verb.get_ref());
            return self.fail(action.verb.span(), message);
        }
        self.when(action.when.as_ref())?;
        if action.send.is_empty() {
            return self.fail(action.verb.span(), "this action sends nothing");
        }
        for arg in &action.args {
            let (span, arg) = (arg.span(), arg.get_ref());
            if Arg::from_word(arg.name.get_ref()).is_none() {
                return self.fail(arg.name.span(), format!("{:?} is no argument name", arg.name.get_ref()));
            }
            self.when(arg.when.as_ref())?;
            for bound in [&arg.min, &arg.max, &arg.step].into_iter().flatten() {
                self.bound(span.clone(), bound)?;
            }
            if let Some(Options::Parameter(name)) = &arg.options
                && self.parameters.get(name).is_none_or(|known| known.kind != ParameterKind::Words)
            {
                return self.fail(span, format!("{name:?} is no words parameter of this profile"));
            }
        }
        for number in [&action.confirm_s, &action.tolerance].into_iter().flatten() {
            if !number.get_ref().is_finite() || *number.get_ref() < 0.0 || *number.get_ref() > 3600.0 {
                return self.fail(number.span(), format!("{} is outside 0 to 3600", number.get_ref()));
            }
        }
        action.send.iter().try_for_each(|send| self.send(action, send))
    }

    fn send(&self, action: &ActionFile, send: &Spanned<SendFile>) -> Result<(), FileError> {
        let (span, send) = (send.span(), send.get_ref());
        self.template(&send.topic)?;
        let is_arg = |name: &str| action.args.iter().any(|arg| arg.get_ref().name.get_ref() == name);
        for name in [&send.only_with, &send.unless_with].into_iter().flatten() {
            if !is_arg(name.get_ref()) {
                return self.fail(name.span(), format!("{:?} is no argument of this action", name.get_ref()));
            }
        }
        if let Some(text) = &send.text {
            self.template(text)?;
        }
        if let Some(json) = &send.json {
            let value = serde_json::Value::Object(json.get_ref().clone());
            if let Err(why) = JsonTemplate::parse(&value, &self.parameters) {
                return self.fail(json.span(), why);
            }
        }
        for field in &send.fields {
            let file = field.get_ref();
            match &file.arg {
                Some(arg) if is_arg(arg.get_ref()) && file.to.is_none() => self.field(field)?,
                Some(arg) => {
                    return self
                        .fail(arg.span(), format!("{:?} is no argument of this action", arg.get_ref()));
                }
                None => return self.fail(field.span(), "a field of an action needs arg = …"),
            }
        }
        let paths = send.fields.iter().filter(|field| field.get_ref().path.is_some()).count();
        let right = match (&send.text, &send.json) {
            (Some(_), Some(_)) => false,
            (Some(_), None) => send.fields.is_empty(),
            (None, Some(_)) => paths == send.fields.len(),
            (None, None) => !send.fields.is_empty() && (paths == send.fields.len() || send.fields.len() == 1),
        };
        if !right {
            let message = "a message is text = …, or json = { … } with fields that have a path, or one field";
            return self.fail(span, message);
        }
        if send.qos > 2 {
            return self.fail(span, format!("qos is {}; expected 0, 1 or 2", send.qos));
        }
        Ok(())
    }

    /// Every action has an example, and so have the reports.
    fn examples(&self, file: &ProfileFile) -> Result<(), FileError> {
        let shown: BTreeSet<&str> =
            file.example.iter().filter_map(|example| example.get_ref().action.as_deref()).collect();
        for action in &file.action {
            let verb = action.verb.get_ref();
            if !shown.contains(verb.as_str()) {
                let message = format!("{verb} has no [[example]]; show its exact messages");
                return self.fail(action.verb.span(), message);
            }
        }
        let reported = file.example.iter().any(|example| example.get_ref().state.is_some());
        if !file.report.is_empty() && !reported {
            let message = "no [[example]] shows a report and the state that follows";
            return self.fail(file.profile.span(), message);
        }
        if file.report.is_empty() && file.action.is_empty() {
            return self.fail(file.profile.span(), "a profile without reports and actions does nothing");
        }
        Ok(())
    }
}
