//! What can go wrong with the journal, in the words that somebody branches on, and the health that follows from it.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why the journal refused. Cloned for every caller whose write shared a failed commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error(
        "the state directory {} is in use by another homeloop (process {pid}); stop it or choose another directory",
        dir.display()
    )]
    Locked { dir: PathBuf, pid: String },
    #[error(
        "the journal has schema {found}, newer than {supported} which this version knows; install the newer homeloop"
    )]
    NewerSchema { found: i64, supported: i64 },
    #[error("the journal is damaged ({detail}); {}", kept(.copy))]
    Corrupt { detail: String, copy: Option<PathBuf> },
    #[error("the journal cannot be written: the file system or the file is read-only ({0})")]
    ReadOnly(String),
    #[error("the journal cannot grow: the disk or its size limit is full; free some space")]
    Full,
    #[error("the journal is locked by another process for longer than homeloop waits; close that process")]
    Busy,
    #[error("the journal could not be read or written: {0}")]
    Io(String),
    #[error("homeloop is in safe mode and promises nothing durable: {0}")]
    SafeMode(String),
    #[error("the journal refuses this: {0}")]
    Invalid(String),
    #[error("the journal is closed")]
    Closed,
}

fn kept(copy: &Option<PathBuf>) -> String {
    match copy {
        Some(path) => format!("a copy is kept at {}", path.display()),
        None => "no copy could be made; the file was left as it is".to_owned(),
    }
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        let message = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(message),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { detail: message, copy: None }
            }
            Some(ErrorCode::ConstraintViolation) => Self::Invalid(message),
            Some(_) | None => Self::Io(message),
        }
    }
}

impl From<std::io::Error> for JournalError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                Self::ReadOnly(error.to_string())
            }
            _ => Self::Io(error.to_string()),
        }
    }
}

/// Whether the journal can be relied on now. Anything but [`Health::Good`] means: no gated action.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", content = "detail", rename_all = "snake_case")]
pub enum Health {
    Good,
    /// No space. The writer tries again by itself.
    Full,
    /// Opened for reading only, or the file system became read-only. The writer tries again by itself.
    ReadOnly,
    /// Another process holds the database. The writer tries again by itself.
    Busy,
    /// Damaged while open; only a restart helps, and that one starts in safe mode.
    Corrupt,
    /// Another fault of reading or writing. The writer tries again by itself.
    Failed(String),
    /// In memory, because the file could not be used; nothing survives a restart and nothing durable is promised.
    SafeMode(String),
    Closed,
}

impl Health {
    /// The health after a write that failed with `error`; `None` when the fault was the caller's.
    pub(super) fn after(error: &JournalError) -> Option<Self> {
        match error {
            JournalError::Full => Some(Self::Full),
            JournalError::ReadOnly(_) => Some(Self::ReadOnly),
            JournalError::Busy => Some(Self::Busy),
            JournalError::Corrupt { .. } => Some(Self::Corrupt),
            JournalError::Io(detail) => Some(Self::Failed(detail.clone())),
            JournalError::SafeMode(detail) => Some(Self::SafeMode(detail.clone())),
            JournalError::Closed => Some(Self::Closed),
            JournalError::Locked { .. } | JournalError::NewerSchema { .. } | JournalError::Invalid(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_the_disk_are_told_apart() {
        let sqlite = |code| {
            JournalError::from(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error { code, extended_code: 0 },
                Some("why".into()),
            ))
        };
        assert_eq!(sqlite(ErrorCode::DiskFull), JournalError::Full);
        assert_eq!(sqlite(ErrorCode::ReadOnly), JournalError::ReadOnly("why".into()));
        assert_eq!(sqlite(ErrorCode::DatabaseBusy), JournalError::Busy);
        assert_eq!(
            sqlite(ErrorCode::NotADatabase),
            JournalError::Corrupt { detail: "why".into(), copy: None }
        );
        assert_eq!(sqlite(ErrorCode::SystemIoFailure), JournalError::Io("why".into()));
        assert_eq!(Health::after(&JournalError::Invalid("x".into())), None, "a bad call is no illness");
    }
}
