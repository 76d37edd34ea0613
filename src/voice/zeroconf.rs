//! Telling the local network where the Wyoming server is, so that Home Assistant offers it by itself.
//!
//! The announcement holds an address, a port and a name. Nothing is browsed for, and nothing is announced that
//! listens on loopback.

use std::net::SocketAddr;

use mdns_sd::{IfKind, ServiceDaemon, ServiceInfo};

/// The service type that Home Assistant's Wyoming integration looks for.
const SERVICE: &str = "_wyoming._tcp.local.";

/// A standing announcement. It is taken back when this is dropped.
pub struct Announcement {
    daemon: ServiceDaemon,
    name: String,
}

/// Why nothing is announced.
#[derive(Debug, thiserror::Error)]
pub enum ZeroconfError {
    #[error("{0} is a loopback address: nobody else could connect to it")]
    Loopback(SocketAddr),
    #[error("multicast DNS: {0}")]
    Mdns(#[from] mdns_sd::Error),
}

impl Announcement {
    /// Announces a server at `address` as `homeloop-<home>`. An unspecified address stands for all of this machine.
    pub fn start(address: SocketAddr, home: &str) -> Result<Self, ZeroconfError> {
        if address.ip().is_loopback() {
            return Err(ZeroconfError::Loopback(address));
        }
        let instance = format!("homeloop-{home}");
        let host = format!("{instance}.local.");
        let daemon = ServiceDaemon::new()?;
        daemon.disable_interface(vec![IfKind::LoopbackV4, IfKind::LoopbackV6])?;
        let none: [(&str, &str); 0] = [];
        let service = if address.ip().is_unspecified() {
            ServiceInfo::new(SERVICE, &instance, &host, "", address.port(), &none[..])?.enable_addr_auto()
        } else {
            ServiceInfo::new(SERVICE, &instance, &host, address.ip(), address.port(), &none[..])?
        };
        let name = service.get_fullname().to_owned();
        daemon.register(service)?;
        Ok(Self { daemon, name })
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Says goodbye as far as it still can; what is not heard runs out by itself.
        let _ = self.daemon.unregister(&self.name);
        let _ = self.daemon.shutdown();
    }
}
