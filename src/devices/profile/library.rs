//! All profiles by name: those in the binary and those of a folder of the person who runs the daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{EMBEDDED_FILES, FileError, Profile};

/// Profiles by name.
#[derive(Clone, Default)]
pub struct Profiles {
    by_name: BTreeMap<String, Arc<Profile>>,
}

/// Why profiles could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {error}; check that the profile folder exists and can be read", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{file}: a profile named {name:?} was read before; give each its own name")]
    Twice { file: String, name: String },
}

impl Profiles {
    /// The profiles in the binary.
    pub fn embedded() -> Result<Self, LibraryError> {
        let mut profiles = Self::default();
        for (file, text) in EMBEDDED_FILES {
            let profile = Profile::parse(file, text)?;
            let name = profile.name().to_owned();
            if profiles.by_name.insert(name.clone(), Arc::new(profile)).is_some() {
                return Err(LibraryError::Twice { file: (*file).to_owned(), name });
            }
        }
        Ok(profiles)
    }

    /// Adds every `*.toml` of `folder` and of the folders in it. A profile may replace one of the binary by its
    /// name; two in the folder with one name are an error.
    pub fn with_folder(mut self, folder: &Path) -> Result<Self, LibraryError> {
        let mut own: BTreeMap<String, Arc<Profile>> = BTreeMap::new();
        for path in toml_files(folder)? {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| LibraryError::Read { path: path.clone(), error })?;
            let file = path.display().to_string();
            let profile = Profile::parse(&file, &text)?;
            let name = profile.name().to_owned();
            if own.insert(name.clone(), Arc::new(profile)).is_some() {
                return Err(LibraryError::Twice { file, name });
            }
        }
        self.by_name.extend(own);
        Ok(self)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.by_name.get(name)
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.by_name.values()
    }

    /// The names, for messages.
    pub fn names(&self) -> String {
        self.by_name.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// The files in a stable order.
fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, LibraryError> {
    let failed = |error| LibraryError::Read { path: folder.to_owned(), error };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            files.extend(toml_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
