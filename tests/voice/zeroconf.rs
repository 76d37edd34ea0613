//! `_wyoming._tcp` on the local network, seen by a browser of its own.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use homeloop::voice::zeroconf::{Announcement, ZeroconfError};
use mdns_sd::{ServiceDaemon, ServiceEvent};

use crate::common::soon;

/// The address of this machine on its network, if it has one. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_is_found_by_its_service_type_and_goes_again() {
    let loopback: SocketAddr = "127.0.0.1:10500".parse().expect("an address");
    assert!(matches!(Announcement::start(loopback, "home"), Err(ZeroconfError::Loopback(_))));
    let Some(address) = own_address() else {
        println!("skipped: this machine has no network");
        return;
    };
    let announcement = match Announcement::start(SocketAddr::new(address, 10500), "test-home") {
        Ok(announcement) => announcement,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    let browser = ServiceDaemon::new().expect("a browser");
    let found = browser.browse("_wyoming._tcp.local.").expect("it browses");
    let ours = |name: &str| name.starts_with("homeloop-test-home.");
    soon("the browser sees it come", async {
        loop {
            let event = found.recv_async().await.expect("the browser runs");
            if let ServiceEvent::ServiceResolved(service) = event
                && ours(service.get_fullname())
            {
                assert_eq!(service.get_port(), 10500);
                return;
            }
        }
    })
    .await;
    drop(announcement);
    soon("the browser sees it go", async {
        loop {
            let event = found.recv_async().await.expect("the browser runs");
            if let ServiceEvent::ServiceRemoved(_, name) = event
                && ours(&name)
            {
                return;
            }
        }
    })
    .await;
}
