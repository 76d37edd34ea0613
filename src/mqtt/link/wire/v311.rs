//! MQTT 3.1.1, for brokers that speak nothing newer. It knows no response topics, no expiry and no reasons.

use std::collections::VecDeque;

use rumqttc::{
    AsyncClient, Event, EventLoop, LastWill, MqttOptions, NetworkOptions, Outgoing, Packet, QoS, Request,
    SubscribeFilter, SubscribeReasonCode, Transport,
};

use super::super::settings::{LinkSettings, Status};
use super::super::{Publish, Qos};
use super::{IN_FLIGHT, Message, Signal, WAITING_REQUESTS};

/// Largest packet that MQTT can express; 3.1.1 brokers do not say their own limit.
const LARGEST_PACKET: usize = 268_435_455;

pub(super) fn open(
    settings: &LinkSettings,
    transport: Transport,
    network: NetworkOptions,
    login: Option<(&str, &str)>,
) -> (AsyncClient, EventLoop) {
    let mut options = MqttOptions::new(&settings.client_id, &settings.host, settings.port);
    let max_incoming = usize::try_from(settings.max_incoming).unwrap_or(LARGEST_PACKET);
    options
        .set_keep_alive(settings.keep_alive)
        .set_clean_session(true)
        .set_transport(transport)
        .set_max_packet_size(max_incoming, LARGEST_PACKET)
        .set_inflight(IN_FLIGHT);
    if let Some((user, password)) = login {
        options.set_credentials(user, password);
    }
    if let Some(status) = &settings.status {
        options.set_last_will(LastWill::new(&status.topic, Status::OFFLINE, QoS::AtLeastOnce, true));
    }
    let (client, mut events) = AsyncClient::new(options, WAITING_REQUESTS);
    events.set_network_options(network);
    (client, events)
}

pub(super) fn try_publish(client: &AsyncClient, publish: &Publish) -> bool {
    client.try_publish(&publish.topic, qos(publish.qos), publish.retain, &*publish.payload).is_ok()
}

pub(super) fn try_subscribe(client: &AsyncClient, filters: &[String], own: &str) -> bool {
    let filters = filters.iter().map(|filter| {
        let qos = if filter.starts_with(own) { QoS::AtLeastOnce } else { QoS::AtMostOnce };
        SubscribeFilter::new(filter.clone(), qos)
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
        Packet::Publish(publish) => Signal::Message(Message {
            topic: publish.topic,
            payload: publish.payload,
            retain: publish.retain,
            packet: publish.pkid,
            again: publish.dup,
            response_topic: None,
            correlation: None,
            sender: None,
        }),
        Packet::PubAck(ack) => Signal::Acknowledged { packet: ack.pkid, refused: None },
        Packet::PubComp(ack) => Signal::Acknowledged { packet: ack.pkid, refused: None },
        Packet::SubAck(ack) => Signal::Subscribed(
            ack.return_codes
                .into_iter()
                .map(|code| match code {
                    SubscribeReasonCode::Success(_) => None,
                    SubscribeReasonCode::Failure => Some("refused without a reason".to_owned()),
                })
                .collect(),
        ),
        Packet::ConnAck(_) => Signal::Connected { max_outgoing: None },
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
