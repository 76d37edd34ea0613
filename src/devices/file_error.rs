//! A fault in a file that a person wrote, with the place where it is.

use std::ops::Range;

/// What is wrong, in which file and line. The message says what was found and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.shown())]
pub struct FileError {
    /// Path as it was given, or the name of an embedded file.
    pub file: String,
    /// First line is 1; 0 is the whole file.
    pub line: usize,
    pub message: String,
}

impl FileError {
    /// An error of the whole file.
    pub fn whole(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: 0, message: message.into() }
    }

    fn shown(&self) -> String {
        let Self { file, line, message } = self;
        if *line == 0 { format!("{file}: {message}") } else { format!("{file}:{line}: {message}") }
    }
}

/// The text of a file and its name, to turn byte ranges into lines.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at a byte range of the text.
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> FileError {
        let before = self.text.as_bytes().iter().take(span.start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        FileError { file: self.file.to_owned(), line, message: message.into() }
    }

    /// What the TOML reader found. Without a place it is the first line.
    pub fn toml_error(&self, error: &toml::de::Error) -> FileError {
        let message = error.message().trim_end().replace('\n', ", ");
        self.error(error.span().unwrap_or(0..0), message)
    }
}
