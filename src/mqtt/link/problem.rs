//! Why there is no connection, in words that a person can act on.

use std::io;

use rumqttc::tokio_rustls::rustls;
use rumqttc::v5::mqttbytes::Error as Packet5;
use rumqttc::v5::mqttbytes::v5::{ConnectReturnCode as Code5, DisconnectReasonCode};
use rumqttc::v5::{ConnectionError as Error5, StateError as State5};
use rumqttc::{
    ConnectReturnCode as Code4, ConnectionError as Error4, Error as Packet4, StateError as State4, TlsError,
};

/// What stands between us and the broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("the link has not connected yet")]
    NotYet,
    #[error("the broker's name {0:?} cannot be resolved; check the setting and the network")]
    Unresolved(String),
    #[error("nothing listens at {0}; is the broker running?")]
    NobodyListens(String),
    #[error("the broker at {0} cannot be reached: {1}")]
    Unreachable(String, String),
    #[error("the broker at {0} does not answer")]
    NoAnswer(String),
    #[error("the broker refuses the user name or password")]
    Credentials,
    #[error("the broker does not speak this version of MQTT; set the version to 3.1.1 or 5")]
    Version,
    #[error("the broker refuses the connection: {0}")]
    Refused(String),
    #[error("TLS with the broker failed: {0}")]
    Tls(String),
    #[error("no certificate authorities to trust: {0}; install ca-certificates or set a CA file")]
    NoTrust(String),
    #[error("the broker closed the connection")]
    Closed,
    #[error("another client with our client id took the connection over; give each its own id")]
    TakenOver,
    #[error(
        "a packet of {size} bytes arrived, more than the limit of {max}; raise the limit or subscribe to less"
    )]
    Oversized { size: usize, max: usize },
    #[error("the broker was silent for one and a half keep-alive times")]
    Silent,
    #[error("the broker does not acknowledge our subscriptions")]
    NotSubscribed,
    #[error("the link was stopped")]
    Stopped,
    #[error("the connection failed: {0}")]
    Other(String),
}

impl Problem {
    /// Whether trying again soon is pointless, because a person must change something first.
    pub(super) fn needs_a_person(&self) -> bool {
        match self {
            Self::Credentials
            | Self::Version
            | Self::Refused(_)
            | Self::Tls(_)
            | Self::NoTrust(_)
            | Self::TakenOver
            | Self::Oversized { .. }
            | Self::NotSubscribed => true,
            Self::NotYet
            | Self::Unresolved(_)
            | Self::NobodyListens(_)
            | Self::Unreachable(..)
            | Self::NoAnswer(_)
            | Self::Closed
            | Self::Silent
            | Self::Stopped
            | Self::Other(_) => false,
        }
    }

    /// A failure of the MQTT 5 client that speaks with `broker` (`host:port`).
    pub(super) fn of_v5(error: Error5, broker: &str) -> Self {
        match error {
            Error5::MqttState(state) => Self::of_state5(state, broker),
            Error5::Timeout(_) => Self::NoAnswer(broker.to_owned()),
            Error5::Tls(error) => Self::of_tls(error, broker),
            Error5::Io(error) => Self::of_io(&error, broker),
            Error5::ConnectionRefused(code) => match code {
                Code5::BadUserNamePassword | Code5::NotAuthorized => Self::Credentials,
                Code5::RefusedProtocolVersion | Code5::UnsupportedProtocolVersion => Self::Version,
                other => Self::Refused(words(&format!("{other:?}"))),
            },
            Error5::NotConnAck(_) => Self::Other("the other side does not speak MQTT".to_owned()),
            Error5::RequestsDone => Self::Stopped,
        }
    }

    /// A failure of the MQTT 3.1.1 client.
    pub(super) fn of_v4(error: Error4, broker: &str, max: usize) -> Self {
        match error {
            Error4::MqttState(State4::Io(error)) => Self::of_io(&error, broker),
            Error4::MqttState(State4::ConnectionAborted) => Self::Closed,
            Error4::MqttState(State4::AwaitPingResp) => Self::Silent,
            Error4::MqttState(State4::Deserialization(Packet4::PayloadSizeLimitExceeded(size))) => {
                Self::Oversized { size, max }
            }
            Error4::MqttState(other) => Self::Other(other.to_string()),
            Error4::NetworkTimeout | Error4::FlushTimeout => Self::NoAnswer(broker.to_owned()),
            Error4::Tls(error) => Self::of_tls(error, broker),
            Error4::Io(error) => Self::of_io(&error, broker),
            Error4::ConnectionRefused(code) => match code {
                Code4::BadUserNamePassword | Code4::NotAuthorized => Self::Credentials,
                Code4::RefusedProtocolVersion => Self::Version,
                other => Self::Refused(words(&format!("{other:?}"))),
            },
            Error4::NotConnAck(_) => Self::Other("the other side does not speak MQTT".to_owned()),
            Error4::RequestsDone => Self::Stopped,
        }
    }

    fn of_state5(state: State5, broker: &str) -> Self {
        match state {
            State5::Io(error) => Self::of_io(&error, broker),
            State5::ConnectionAborted => Self::Closed,
            State5::AwaitPingResp => Self::Silent,
            State5::IncomingPacketTooLarge { pkt_size, max } => Self::Oversized { size: pkt_size, max },
            State5::Deserialization(Packet5::Io(error)) => Self::of_io(&error, broker),
            State5::Deserialization(Packet5::PayloadSizeLimitExceeded { pkt_size, max }) => {
                Self::Oversized { size: pkt_size, max: usize::try_from(max).unwrap_or(usize::MAX) }
            }
            State5::ServerDisconnect { reason_code, reason_string } => match reason_code {
                DisconnectReasonCode::SessionTakenOver => Self::TakenOver,
                DisconnectReasonCode::ServerShuttingDown => Self::Closed,
                DisconnectReasonCode::NotAuthorized => Self::Credentials,
                other => Self::Refused(reason_string.unwrap_or_else(|| words(&format!("{other:?}")))),
            },
            other => Self::Other(other.to_string()),
        }
    }

    fn of_io(error: &io::Error, broker: &str) -> Self {
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Self::Tls(tls_words(tls));
        }
        // The resolver's failures have no kind of their own.
        let text = error.to_string();
        if text.contains("lookup address") || text.contains("resolve") {
            return Self::Unresolved(broker.rsplit_once(':').map_or(broker, |(host, _)| host).to_owned());
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::NobodyListens(broker.to_owned()),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Self::Closed,
            io::ErrorKind::TimedOut => Self::NoAnswer(broker.to_owned()),
            _ => Self::Unreachable(broker.to_owned(), text),
        }
    }

    fn of_tls(error: TlsError, broker: &str) -> Self {
        match error {
            TlsError::Io(error) => match Self::of_io(&error, broker) {
                Self::Closed => {
                    Self::Tls("the broker closed the connection; does this port speak TLS?".to_owned())
                }
                other => other,
            },
            TlsError::TLS(error) => Self::Tls(tls_words(&error)),
            other => Self::Tls(other.to_string()),
        }
    }
}

/// The usual failures of a certificate as a person would say them.
fn tls_words(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired | Bad::ExpiredContext { .. } => "the broker's certificate has expired".to_owned(),
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                "the broker's certificate is not valid yet; is the clock right?".to_owned()
            }
            // A bad signature is one by another authority with the same name: the usual end of a remade one.
            Bad::UnknownIssuer | Bad::BadSignature => {
                "the broker's certificate is not signed by an authority that we trust; set its CA file"
                    .to_owned()
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "the broker's certificate is for another name".to_owned()
            }
            other => format!("the broker's certificate is not valid: {other}"),
        },
        rustls::Error::InvalidMessage(_) => "the other side does not speak TLS on this port".to_owned(),
        other => other.to_string(),
    }
}

/// `ClientIdentifierNotValid` as `client identifier not valid`.
pub(super) fn words(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 8);
    for (position, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && position > 0 {
            text.push(' ');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_said_in_plain_words() {
        let broker = "broker.lan:1883";
        for (problem, expected) in [
            (
                Problem::of_v5(Error5::ConnectionRefused(Code5::NotAuthorized), broker),
                "the broker refuses the user name or password",
            ),
            (
                Problem::of_v4(Error4::ConnectionRefused(Code4::BadUserNamePassword), broker, 0),
                "the broker refuses the user name or password",
            ),
            (
                Problem::of_v5(Error5::ConnectionRefused(Code5::ClientIdentifierNotValid), broker),
                "the broker refuses the connection: client identifier not valid",
            ),
            (
                Problem::of_v5(Error5::Io(io::ErrorKind::ConnectionRefused.into()), broker),
                "nothing listens at broker.lan:1883; is the broker running?",
            ),
            (
                Problem::of_v4(
                    Error4::Io(io::Error::other(
                        "failed to lookup address information: Name or service not known",
                    )),
                    broker,
                    0,
                ),
                "the broker's name \"broker.lan\" cannot be resolved; check the setting and the network",
            ),
            (
                Problem::of_v4(
                    Error4::MqttState(State4::Deserialization(Packet4::PayloadSizeLimitExceeded(70))),
                    broker,
                    64,
                ),
                "a packet of 70 bytes arrived, more than the limit of 64; raise the limit or subscribe to less",
            ),
        ] {
            assert_eq!(problem.to_string(), expected);
        }
    }
}
