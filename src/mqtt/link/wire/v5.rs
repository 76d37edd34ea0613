//! MQTT 5.

use std::collections::VecDeque;

use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{
    ConnectProperties, Filter, LastWill, Packet, PubAckReason, PubCompReason, PubRecReason,
    PublishProperties, SubscribeReasonCode,
};
use rumqttc::v5::{AsyncClient, Event, EventLoop, MqttOptions, Request};
use rumqttc::{NetworkOptions, Outgoing, Transport};

use super::super::problem::words;
use super::super::settings::{LinkSettings, Status};
use super::super::{Publish, Qos};
use super::{IN_FLIGHT, Message, SENDER_PROPERTY, Signal, WAITING_REQUESTS};

pub(super) fn open(
    settings: &LinkSettings,
    transport: Transport,
    network: NetworkOptions,
    login: Option<(&str, &str)>,
) -> (AsyncClient, EventLoop) {
    let mut options = MqttOptions::new(&settings.client_id, &settings.host, settings.port);
    let mut properties = ConnectProperties::new();
    properties.max_packet_size = Some(settings.max_incoming);
    properties.session_expiry_interval = Some(0);
    options
        .set_connect_properties(properties)
        .set_keep_alive(settings.keep_alive)
        .set_clean_start(true)
        .set_transport(transport)
        .set_connection_timeout(network.connection_timeout())
        .set_network_options(network)
        .set_outgoing_inflight_upper_limit(IN_FLIGHT);
    if let Some((user, password)) = login {
        options.set_credentials(user, password);
    }
    if let Some(status) = &settings.status {
        options.set_last_will(LastWill::new(&status.topic, Status::OFFLINE, QoS::AtLeastOnce, true, None));
    }
    AsyncClient::new(options, WAITING_REQUESTS)
}

pub(super) fn try_publish(client: &AsyncClient, publish: &Publish) -> bool {
    let properties = PublishProperties {
        message_expiry_interval: publish
            .expiry
            .map(|expiry| u32::try_from(expiry.as_secs()).unwrap_or(u32::MAX)),
        correlation_data: publish.correlation.clone(),
        ..PublishProperties::default()
    };
    client
        .try_publish_with_properties(
            publish.topic.as_str(),
            qos(publish.qos),
            publish.retain,
            publish.payload.clone(),
            properties,
        )
        .is_ok()
}

pub(super) fn try_subscribe(client: &AsyncClient, filters: &[String], own: &str) -> bool {
    let filters = filters.iter().map(|filter| Filter {
        // Our own publishes are not news, least of all where a device listens and reports on one topic. For shared
        // filters the standard forbids it.
        nolocal: !filter.starts_with("$share/"),
        ..Filter::new(filter, if filter.starts_with(own) { QoS::AtLeastOnce } else { QoS::AtMostOnce })
    });
    client.try_subscribe_many(filters).is_ok()
}

pub(super) fn read(event: Event) -> Signal {
    match event {
        Event::Incoming(packet) => incoming(packet),
        Event::Outgoing(Outgoing::Publish(packet)) => Signal::Wrote(packet),
        Event::Outgoing(Outgoing::Disconnect) => Signal::Disconnected,
        Event::Outgoing(_) => Signal::Said,
    }
}

fn incoming(packet: Packet) -> Signal {
    match packet {
        Packet::Publish(publish) => {
            let Ok(topic) = String::from_utf8(publish.topic.into()) else { return Signal::BadTopic };
            let properties = publish.properties.unwrap_or_default();
            let sender = properties.user_properties.into_iter().find(|(name, _)| name == SENDER_PROPERTY);
            Signal::Message(Message {
                topic,
                payload: publish.payload,
                retain: publish.retain,
                packet: publish.pkid,
                again: publish.dup,
                response_topic: properties.response_topic,
                correlation: properties.correlation_data,
                sender: sender.map(|(_, account)| account),
            })
        }
        Packet::PubAck(ack) => Signal::Acknowledged {
            packet: ack.pkid,
            refused: match ack.reason {
                PubAckReason::Success | PubAckReason::NoMatchingSubscribers => None,
                reason => Some(words(&format!("{reason:?}"))),
            },
        },
        // A refused QoS 2 publish ends here; an accepted one with PUBCOMP.
        Packet::PubRec(ack) => match ack.reason {
            PubRecReason::Success | PubRecReason::NoMatchingSubscribers => Signal::Heard,
            reason => Signal::Acknowledged { packet: ack.pkid, refused: Some(words(&format!("{reason:?}"))) },
        },
        Packet::PubComp(ack) => Signal::Acknowledged {
            packet: ack.pkid,
            refused: match ack.reason {
                PubCompReason::Success => None,
                PubCompReason::PacketIdentifierNotFound => Some("packet identifier not found".to_owned()),
            },
        },
        Packet::SubAck(ack) => Signal::Subscribed(
            ack.return_codes
                .into_iter()
                .map(|code| match code {
                    SubscribeReasonCode::Success(_) => None,
                    reason => Some(words(&format!("{reason:?}"))),
                })
                .collect(),
        ),
        Packet::ConnAck(ack) => Signal::Connected {
            max_outgoing: ack
                .properties
                .and_then(|properties| properties.max_packet_size)
                .and_then(|size| usize::try_from(size).ok()),
        },
        _ => Signal::Heard,
    }
}

/// Publishes that came straight from the request channel still have no packet id.
pub(super) fn never_taken(pending: &VecDeque<Request>) -> usize {
    pending.iter().filter(|request| matches!(request, Request::Publish(publish) if publish.pkid == 0)).count()
}

fn qos(qos: Qos) -> QoS {
    match qos {
        Qos::AtMostOnce => QoS::AtMostOnce,
        Qos::AtLeastOnce => QoS::AtLeastOnce,
        Qos::ExactlyOnce => QoS::ExactlyOnce,
    }
}
