//! `run`: the daemon, until a signal ends it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::Common;
use crate::app::{App, Setup};
use crate::clock::Clock;
use crate::devices::profile::Profiles;
use crate::policy::Policy;
use crate::settings::home_file::HomeFile;
use crate::settings::{Settings, given, policy_file};

pub async fn run(common: Common) -> anyhow::Result<ExitCode> {
    log(common.json);
    loop {
        let settings = common.settings()?;
        let (home, policy) = load(&settings)?;
        let setup =
            Setup { settings, home, policy, clock: Clock::system(), open_broker: false, any_port: false };
        let app = App::start(setup).await?;
        ready();
        let watchdog = tokio::spawn(watchdog(app.clone()));
        let end = wait_for_end(&app).await?;
        watchdog.abort();
        if end == End::Signal {
            // Not under systemd: nobody to tell.
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        }
        app.stop().await;
        if end == End::Signal {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Signal,
    /// It was in safe mode, and the journal can be used again.
    Mended,
}

/// The home and the policy that settings name.
pub fn load(settings: &Settings) -> anyhow::Result<(HomeFile, Policy)> {
    let mut profiles = Profiles::embedded().context("the built-in device profiles")?;
    if let Some(folder) = given(&settings.home.profiles) {
        profiles = profiles.with_folder(folder).context("home.profiles")?;
    }
    let home = match given(&settings.home.file) {
        Some(file) => HomeFile::load(file, &profiles)?,
        None => HomeFile::parse("(no home file)", "", &profiles)?,
    };
    let policy = match given(&settings.policy.file) {
        Some(file) => policy_file::load(file)?,
        None => Policy::default(),
    };
    Ok((home, policy))
}

/// Logs to standard error, as text or as JSON lines; `RUST_LOG` chooses what.
pub fn log(json: bool) {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,rumqttc=warn,mqtt5=warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second initialisation is no fault: the first one stays.
    let _ = if json { builder.json().try_init() } else { builder.try_init() };
}

fn ready() {
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
}

/// Tells systemd that the daemon lives, as long as its house can be read.
async fn watchdog(app: Arc<App>) {
    let Some(within) = sd_notify::watchdog_enabled() else { return };
    let mut every = tokio::time::interval((within / 3).max(Duration::from_millis(100)));
    loop {
        every.tick().await;
        // Whoever holds the lock for ever takes the sign of life with it.
        drop(app.house().read());
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
    }
}

async fn wait_for_end(app: &Arc<App>) -> anyhow::Result<End> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut reload = signal(SignalKind::hangup())?;
    let mut mended = std::pin::pin!(app.journal_mended());
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(End::Signal),
            _ = interrupt.recv() => return Ok(End::Signal),
            () = &mut mended => return Ok(End::Mended),
            _ = reload.recv() => {
                let told = app.reload().await;
                let broken = told.iter().find_map(|sentence| sentence.as_ref().err());
                // `systemctl status` shows it: a reload that was refused must not look like one that was taken.
                let status = broken.map_or("home file and policy were read again", String::as_str);
                let _ = sd_notify::notify(&[sd_notify::NotifyState::Status(status)]);
            }
        }
    }
}
