//! Where the lines come from: a terminal with editing, history and completion, or a pipe.
//!
//! The editor blocks, so it lives on a thread of its own; what is printed while it waits goes through it, so that the
//! line that is being typed stays whole.

use std::io::IsTerminal;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::mpsc;

use rustyline::config::{CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Editor, ExternalPrinter};
use tokio::sync::mpsc as channel;

use super::names::Names;
use crate::cli::print::Lines;

/// Lines that are remembered.
const REMEMBERED: usize = 1000;

pub enum Input {
    Terminal(Terminal),
    Pipe(Lines),
}

/// A terminal, with its editor on another thread.
pub struct Terminal {
    ask: mpsc::Sender<Question>,
    lines: channel::Receiver<Option<String>>,
    printer: Box<dyn ExternalPrinter + Send>,
    /// What the editor is reading now.
    open: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Command,
    Answer,
}

struct Question {
    prompt: String,
    kind: Kind,
}

impl Input {
    /// The terminal where there is one, else the pipe.
    pub fn new(names: Names) -> anyhow::Result<Self> {
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            return Ok(Self::Pipe(Lines::new("")));
        }
        let config = Config::builder()
            .max_history_size(REMEMBERED)?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .build();
        let mut editor: Editor<Names, FileHistory> = Editor::with_config(config)?;
        editor.set_helper(Some(names));
        let printer = Box::new(editor.create_external_printer()?);
        let (ask, questions) = mpsc::channel();
        let (tell, lines) = channel::channel(1);
        std::thread::Builder::new().name("editor".into()).spawn(move || edit(editor, &questions, &tell))?;
        Ok(Self::Terminal(Terminal { ask, lines, printer, open: None }))
    }

    /// The next command; `None` at the end. Cancel-safe.
    pub async fn line(&mut self, prompt: &str) -> Option<String> {
        match self {
            Self::Pipe(lines) => lines.next().await,
            Self::Terminal(terminal) => {
                if terminal.open == Some(Kind::Answer) {
                    terminal.say("          it was decided elsewhere; press Enter to go on");
                    terminal.read(prompt, Kind::Answer).await?;
                }
                terminal.read(prompt, Kind::Command).await
            }
        }
    }

    /// The next line for a question. Cancel-safe.
    pub async fn answer(&mut self, prompt: &str) -> Option<String> {
        match self {
            Self::Pipe(lines) => lines.next().await,
            Self::Terminal(terminal) => terminal.read(prompt, Kind::Answer).await,
        }
    }

    /// Prints a line above the one that is being typed.
    pub fn say(&mut self, text: &str) {
        match self {
            Self::Pipe(_) => println!("{text}"),
            Self::Terminal(terminal) => terminal.say(text),
        }
    }
}

impl Terminal {
    fn say(&mut self, text: &str) {
        if self.printer.print(format!("{text}\n")).is_err() {
            println!("{text}");
        }
    }

    async fn read(&mut self, prompt: &str, kind: Kind) -> Option<String> {
        if self.open.is_none() {
            self.ask.send(Question { prompt: prompt.to_owned(), kind }).ok()?;
            self.open = Some(kind);
        }
        let line = self.lines.recv().await.flatten();
        self.open = None;
        line
    }
}

/// Reads a line for each question. Commands are remembered, answers are not.
fn edit(
    mut editor: Editor<Names, FileHistory>,
    questions: &mpsc::Receiver<Question>,
    tell: &channel::Sender<Option<String>>,
) {
    let history = history_file();
    if let Some(file) = &history {
        // None is there the first time.
        let _ = editor.load_history(file);
    }
    while let Ok(question) = questions.recv() {
        let line = match editor.readline(question.prompt.as_str()) {
            Ok(line) => Some(line),
            // Ctrl-C drops the line and not the conversation.
            Err(ReadlineError::Interrupted) => Some(String::new()),
            Err(_) => None,
        };
        if let Some(line) =
            line.as_deref().filter(|line| question.kind == Kind::Command && !line.trim().is_empty())
        {
            let _ = editor.add_history_entry(line);
            if let Some(file) = &history {
                let _ = editor.save_history(file);
                let _ = std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600));
            }
        }
        if tell.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Where commands are remembered, for this person alone; `None` where there is no such place.
fn history_file() -> Option<PathBuf> {
    let state = match std::env::var_os("XDG_STATE_HOME").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(std::env::var_os("HOME").filter(|path| !path.is_empty())?).join(".local/state"),
    };
    let folder = state.join("homeloop");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    Some(folder.join("chat-history"))
}
