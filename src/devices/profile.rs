//! Profiles: declarative codecs in TOML for things that do not announce themselves.
//!
//! A profile names topics, says how reports become state and how actions become messages, and proves it by examples
//! that are run whenever the file is read. There is no scripting: a value is kept, looked up in a table, scaled, or
//! converted by one of a few named conversions. `devices/README.md` documents the format field by field.

mod bind;
mod check;
mod codec;
mod color;
mod embedded;
mod example;
mod field;
mod format;
mod library;
mod parameters;
mod reverse;

use std::collections::BTreeMap;

pub use codec::ProfileCodec;
pub use embedded::FILES as EMBEDDED_FILES;
pub(super) use field::number_value as json_number;
pub use library::{LibraryError, Profiles};
pub use parameters::BindError;
pub use reverse::Said;

use super::file_error::{FileError, Source};
use crate::home::Domain;
use format::ProfileFile;
use parameters::Parameter;

/// A checked profile file. [`Profile::bind`] makes the codec of one entity from it.
pub struct Profile {
    name: String,
    domain: Domain,
    about: String,
    parameters: BTreeMap<String, Parameter>,
    file: ProfileFile,
}

impl Profile {
    /// Reads a profile, checks it and runs its examples. The error names the file and the line.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let source = Source { file, text };
        let parsed: ProfileFile = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
        let profile = check::checked(source, parsed)?;
        example::run_all(source, &profile)?;
        Ok(profile)
    }

    /// `dialect.kind`, for example `zigbee2mqtt.light`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The domain of the entities that can have this profile.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// One sentence for people.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The codec of one entity: the profile with the parameters that its home file gives.
    pub fn bind(&self, given: &BTreeMap<String, toml::Value>) -> Result<ProfileCodec, BindError> {
        bind::bind(self, given)
    }
}

#[cfg(test)]
mod tests;
