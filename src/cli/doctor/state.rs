//! The state directory: whether it can be used, whether another homeloop holds it, and whether there is space; and the
//! address of the HTTP server.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use super::Finding;
use crate::clock::Clock;
use crate::journal::{self, Journal};
use crate::settings::Settings;

/// Free space from which the journal will soon stop, and from which it is worth a word; in bytes.
const LITTLE: u64 = 16 << 20;
const SOME: u64 = 256 << 20;

/// What is written to see whether there is space: more than one commit of the journal takes.
const PROBE: usize = 256 << 10;

/// Time for the daemon to answer on its own machine.
const ANSWER: Duration = Duration::from_secs(3);

/// Looks at the directory and at HTTP; says whether the daemon of these settings runs.
pub async fn examine(settings: &Settings, findings: &mut Vec<Finding>) -> bool {
    let dir = settings.state_dir();
    let holder = match journal::holder(&dir) {
        Ok(holder) => holder,
        Err(error) => {
            let says = format!("the state directory {} cannot be used: {error}", dir.display());
            let fix = "run this as the user of the service (`sudo -u homeloop homeloop doctor`), or correct its owner";
            findings.push(Finding::fault("state", says, fix));
            return false;
        }
    };
    let answer = if settings.http.enabled { ready(settings).await } else { None };
    findings.push(instance(settings, &dir, holder.as_deref(), answer.is_some()));
    findings.extend(http(settings, holder.is_some(), answer.is_some()));
    if answer.as_deref().is_some_and(|reasons| reasons.iter().any(|reason| reason == "journal")) {
        let fix =
            "free some space, then look at the log: the daemon goes on by itself when it can write again";
        findings.push(Finding::fault("database", "the running daemon cannot write its journal", fix));
    } else {
        findings.push(database(&dir).await);
    }
    findings.push(space(&dir));
    holder.is_some() && (answer.is_some() || !settings.http.enabled)
}

fn instance(settings: &Settings, dir: &Path, holder: Option<&str>, answers: bool) -> Finding {
    match (holder, answers) {
        (Some(process), true) => Finding::good("state", format!("homeloop runs (process {process})")),
        (Some(process), false) if !settings.http.enabled => {
            Finding::good("state", format!("homeloop runs (process {process}), without HTTP"))
        }
        (Some(process), false) => Finding::fault(
            "state",
            format!(
                "another homeloop (process {process}) holds the state directory {}, and not with these settings: \
                 nothing answers at {}",
                dir.display(),
                settings.http.bind
            ),
            format!("stop process {process}, or give each instance a state_dir of its own"),
        ),
        (None, _) if dir.exists() => Finding::good("state", format!("{} is free", dir.display())),
        (None, _) => {
            Finding::note("state", format!("{} is not there yet; the start makes it", dir.display()))
        }
    }
}

fn http(settings: &Settings, held: bool, answers: bool) -> Option<Finding> {
    let bind = settings.http.bind;
    if !settings.http.enabled || (held && answers) {
        return None;
    }
    let fix = "stop what listens there, or set http.bind to a free address";
    match TcpListener::bind(bind) {
        Ok(_) => Some(Finding::good("http", format!("{bind} is free"))),
        Err(error) => Some(Finding::fault("http", format!("{bind} cannot be listened on: {error}"), fix)),
    }
}

/// The reasons for which the daemon is not ready; empty when it is, `None` where none answers.
async fn ready(settings: &Settings) -> Option<Vec<String>> {
    let secure = !settings.http.tls_cert.as_os_str().is_empty();
    // Its certificate may be for another name; nothing secret is sent.
    let http = reqwest::Client::builder()
        .no_proxy()
        .timeout(ANSWER)
        .tls_certs_only(Vec::<reqwest::Certificate>::new());
    let http = http.danger_accept_invalid_certs(secure).build().ok()?;
    let url = format!("{}://{}/readyz", if secure { "https" } else { "http" }, settings.http.bind);
    let body: serde_json::Value = http.get(url).send().await.ok()?.json().await.ok()?;
    let reasons = body.get("reasons")?.as_array()?;
    Some(reasons.iter().filter_map(|reason| reason.as_str().map(str::to_owned)).collect())
}

async fn database(dir: &Path) -> Finding {
    if !journal::exists(dir) {
        return Finding::note("database", "there is no journal yet; the start makes it");
    }
    let read = async {
        let journal = Journal::open_read_only(dir, Clock::system())?;
        journal.tasks(1, false).await
    };
    match read.await {
        Ok(_) => Finding::good("database", "the journal can be read"),
        Err(error @ journal::JournalError::NewerSchema { .. }) => {
            Finding::fault("database", error.to_string(), "install the version of homeloop that wrote it")
        }
        Err(error) => Finding::fault(
            "database",
            error.to_string(),
            format!("put back a copy of {}, or move its journal.db* away to begin again", dir.display()),
        ),
    }
}

/// Whether the journal can grow.
fn space(dir: &Path) -> Finding {
    let place = dir.ancestors().find(|place| place.exists() && !place.as_os_str().is_empty());
    let place = place.unwrap_or(Path::new("."));
    let fix = "free some space on that file system; journal.retention_days bounds what homeloop keeps";
    if dir.exists()
        && let Err(error) = probe(dir)
    {
        return Finding::fault("space", format!("{} cannot be written: {error}", dir.display()), fix);
    }
    match rustix::fs::statvfs(place) {
        Ok(system) => {
            let free = system.f_bavail.saturating_mul(system.f_frsize);
            let says = format!("{} MB are free for {}", free >> 20, dir.display());
            match free {
                free if free < LITTLE => Finding::fault("space", says, fix),
                free if free < SOME => Finding::note("space", says),
                _ => Finding::good("space", says),
            }
        }
        Err(error) => {
            Finding::note("space", format!("the free space of {} is unknown: {error}", place.display()))
        }
    }
}

fn probe(dir: &Path) -> std::io::Result<()> {
    let path = dir.join(".doctor");
    let written = std::fs::File::create(&path).and_then(|mut file| {
        file.write_all(&vec![0; PROBE])?;
        file.sync_all()
    });
    let removed = std::fs::remove_file(&path);
    written.and(removed)
}
