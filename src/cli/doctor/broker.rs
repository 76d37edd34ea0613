//! The broker: whether it is reached, whom it lets in, what it holds for us that it should not, and which devices are
//! on it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::Finding;
use super::topics::{self, Heard};
use crate::app::broker_link;
use crate::clock::Clock;
use crate::mqtt::link::{Arrivals, Inbound, Link, LinkHandle, LinkSettings, LinkState, Problem};
use crate::mqtt::topics::Topics;
use crate::settings::home_file::HomeFile;
use crate::settings::{Broker, Settings, given};

/// Time for the first connection.
const CONNECT: Duration = Duration::from_secs(8);
/// Retained messages come at once; this long without one they have all come.
const QUIET: Duration = Duration::from_millis(700);
/// Longest listening, on a broker that never rests.
const LISTEN: Duration = Duration::from_secs(5);
/// Most messages that are looked at: a broker of a big house has some thousands.
const MESSAGES: usize = 20_000;

pub async fn examine(settings: &Settings, home: &HomeFile, running: bool, findings: &mut Vec<Finding>) {
    match settings.mqtt.broker {
        Broker::Embedded => embedded(settings, home, running, findings),
        Broker::External => external(settings, home, findings).await,
    }
}

fn embedded(settings: &Settings, home: &HomeFile, running: bool, findings: &mut Vec<Finding>) {
    let bind = settings.mqtt.embedded.bind;
    if let Some(file) = given(&settings.mqtt.embedded.accounts_file)
        && let Err(error) = crate::settings::accounts::load(file)
    {
        findings.push(Finding::fault("broker", error.to_string(), "correct that line of the accounts file"));
    }
    findings.push(match (running, reached(bind), TcpListener::bind(bind)) {
        (true, true, _) => Finding::good("broker", format!("the embedded broker listens at {bind}")),
        (true, false, _) => Finding::fault(
            "broker",
            format!("homeloop runs, and nothing listens at {bind}"),
            "look at the log of homeloop; mqtt.embedded.bind may have changed since its start",
        ),
        (false, _, Ok(_)) => Finding::good("broker", format!("{bind} is free for the embedded broker")),
        (false, _, Err(error)) => Finding::fault(
            "broker",
            format!("the embedded broker cannot listen at {bind}: {error}"),
            "stop the broker that listens there, or use it: mqtt.broker = \"external\"",
        ),
    });
    if home.entities.is_empty() && !settings.discovery.enabled {
        findings.push(no_devices(settings));
    }
}

fn reached(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

async fn external(settings: &Settings, home: &HomeFile, findings: &mut Vec<Finding>) {
    let link = match own_client(settings) {
        Ok(link) => link,
        Err(error) => {
            findings.push(Finding::fault("broker", error, "correct the settings under [mqtt]"));
            return;
        }
    };
    let Ok(own) = Topics::new(&settings.base_topic()) else { return };
    let mut filters = own.subscriptions();
    filters.extend(topics::announcements(settings));
    filters.extend(home.entities.iter().flat_map(topics::commands_of).map(str::to_owned));
    let (handle, mut arrivals) = match Link::start(link.clone(), Clock::system(), filters) {
        Ok(started) => started,
        Err(error) => {
            findings.push(Finding::fault("broker", error.to_string(), "correct the settings under [mqtt]"));
            return;
        }
    };
    match connected(&handle).await {
        Ok(()) => {}
        Err(problem) => {
            findings.push(refused(settings, &problem));
            handle.stop().await;
            return;
        }
    }
    let address = format!("{}:{}", link.host, link.port);
    findings.push(Finding::good("broker", format!("{address} takes the connection")));
    findings.extend(handle.refused_filters().iter().map(|(filter, why)| {
        let fix = format!("let the account of homeloop read {filter}; deploy/mosquitto.acl shows the rights");
        Finding::fault("broker", format!("the broker does not let us read {filter}: {why}"), fix)
    }));
    let mut heard = Heard::new(settings, home);
    listen(&mut arrivals, &mut heard).await;
    // Announced devices have command topics of their own, known only now.
    let announced: Vec<String> = heard.announced_commands().map(str::to_owned).collect();
    if !announced.is_empty() && handle.subscribe(announced).is_ok() {
        listen(&mut arrivals, &mut heard).await;
    }
    handle.stop().await;
    findings.extend(heard.findings());
    if home.entities.is_empty() && heard.announcements == 0 {
        findings.push(no_devices(settings));
    } else {
        let says = format!(
            "{} entities in the home file, {} announcements",
            home.entities.len(),
            heard.announcements
        );
        findings.push(Finding::good("devices", says));
    }
    findings.push(anonymous(link, &address).await);
}

/// The link of the daemon, under a client id of its own: the daemon's connection must not be taken over.
fn own_client(settings: &Settings) -> Result<LinkSettings, String> {
    let mut link = broker_link(settings).map_err(|error| error.to_string())?;
    link.client_id = format!("{}-doctor-{:08x}", link.client_id, Clock::system().random() & 0xffff_ffff);
    link.status = None;
    Ok(link)
}

/// Waits for the connection, or for the reason why there is none.
async fn connected(handle: &LinkHandle) -> Result<(), Problem> {
    let mut state = handle.state();
    let settled = state.wait_for(|state| match state {
        LinkState::Connecting { problem, .. } => problem.is_some(),
        LinkState::Up { .. } | LinkState::Stopped => true,
    });
    match tokio::time::timeout(CONNECT, settled).await {
        Ok(Ok(state)) => match &*state {
            LinkState::Up { .. } => Ok(()),
            LinkState::Connecting { problem, .. } => Err(problem.clone().unwrap_or(Problem::NotYet)),
            LinkState::Stopped => Err(Problem::Stopped),
        },
        Ok(Err(_)) => Err(Problem::Stopped),
        Err(_) => Err(Problem::NotYet),
    }
}

fn refused(settings: &Settings, problem: &Problem) -> Finding {
    let mqtt = &settings.mqtt;
    let fix = match problem {
        Problem::Unresolved(_) => "correct mqtt.host, or the name service of the network".to_owned(),
        Problem::NobodyListens(_) | Problem::Unreachable(..) | Problem::NoAnswer(_) | Problem::NotYet => {
            format!(
                "start the broker on {} (`systemctl start mosquitto`), open port {} there, or correct mqtt.host and mqtt.port",
                mqtt.host, mqtt.port
            )
        }
        Problem::Credentials => format!(
            "set mqtt.username and mqtt.password_file; on the broker: `mosquitto_passwd /etc/mosquitto/passwd {}`",
            if mqtt.username.is_empty() { "homeloop" } else { &mqtt.username }
        ),
        Problem::Version => "set mqtt.version to 3 (for 3.1.1)".to_owned(),
        Problem::Tls(_) => {
            "set mqtt.tls and mqtt.port as the broker has them, and mqtt.ca_file to its authority".into()
        }
        Problem::NoTrust(_) => "install the package ca-certificates, or set mqtt.ca_file".to_owned(),
        Problem::TakenOver => "give each client of the broker its own client id".to_owned(),
        Problem::Oversized { .. } => "raise mqtt.max_packet".to_owned(),
        Problem::Refused(_)
        | Problem::Closed
        | Problem::Silent
        | Problem::NotSubscribed
        | Problem::Stopped
        | Problem::Other(_) => "look at the log of the broker: it says why".to_owned(),
    };
    Finding::fault("broker", problem.to_string(), fix)
}

async fn listen(arrivals: &mut Arrivals, heard: &mut Heard<'_>) {
    let until = tokio::time::Instant::now() + LISTEN;
    for _ in 0..MESSAGES {
        let quiet = (tokio::time::Instant::now() + QUIET).min(until);
        match tokio::time::timeout_at(quiet, arrivals.recv()).await {
            Ok(Some(Inbound { topic, payload, retain: true, .. })) => heard.retained(&topic, &payload),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// Whether the broker lets in whoever comes.
async fn anonymous(mut link: LinkSettings, address: &str) -> Finding {
    let fix = "set `allow_anonymous false` and a password_file in the broker's configuration; deploy/mosquitto.conf and \
               deploy/mosquitto.acl are ready to use";
    let open = format!(
        "the broker at {address} lets anybody in: whoever reaches it can move the house past every rule"
    );
    if link.credentials.is_none() {
        return Finding::fault("broker", open, fix);
    }
    link.credentials = None;
    link.client_id.push_str("-nobody");
    let Ok((handle, _arrivals)) = Link::start(link, Clock::system(), []) else {
        return Finding::note("broker", "it was not tried whether the broker lets anybody in");
    };
    let let_in = connected(&handle).await;
    handle.stop().await;
    match let_in {
        Ok(()) => Finding::fault("broker", open, fix),
        Err(_) => Finding::good("broker", "a client without a password is refused"),
    }
}

fn no_devices(settings: &Settings) -> Finding {
    let fix = format!(
        "name your devices in home.file (config/home.example.toml shows how), or let your bridge announce them: \
         zigbee2mqtt has `homeassistant.enabled: true`, Tasmota `SetOption19 0`; homeloop listens under {}/",
        settings.discovery.prefix
    );
    Finding::fault(
        "devices",
        "there are no devices: the home file names none, and none announced itself",
        fix,
    )
}
