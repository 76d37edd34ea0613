//! A TCP relay that can be cut, frozen and healed: a network that fails on command.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the relay does with bytes and connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Open,
    /// Bytes from the client pass; nothing comes back.
    Deaf,
    /// Nothing passes, and nobody is told.
    Frozen,
    /// Connections end at once, old and new.
    Cut,
}

pub struct Proxy {
    pub address: SocketAddr,
    line: Arc<watch::Sender<Line>>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let line = Arc::new(watch::Sender::new(Line::Open));
        let shared = line.clone();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *shared.borrow() == Line::Cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(target).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(relay(from_client, to_server, shared.subscribe(), &[Line::Open, Line::Deaf]));
                tokio::spawn(relay(from_server, to_client, shared.subscribe(), &[Line::Open]));
            }
        });
        Self { address, line, task }
    }

    pub fn cut(&self) {
        self.line.send_replace(Line::Cut);
    }

    pub fn freeze(&self) {
        self.line.send_replace(Line::Frozen);
    }

    pub fn deafen(&self) {
        self.line.send_replace(Line::Deaf);
    }

    pub fn heal(&self) {
        self.line.send_replace(Line::Open);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn relay(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut line: watch::Receiver<Line>,
    passes: &'static [Line],
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            biased;
            cut = line.wait_for(|line| *line == Line::Cut) => { drop(cut); return }
            read = from.read(&mut buffer) => read,
        };
        // An end is news like any other: it does not pass a line that is frozen.
        let count = read.unwrap_or(0);
        let Ok(now) =
            line.wait_for(|line| passes.contains(line) || *line == Line::Cut).await.map(|line| *line)
        else {
            return;
        };
        if now == Line::Cut || count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
