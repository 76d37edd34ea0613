//! The HTTP server over real sockets. The daemon behind it is a fake of the boundary trait `Service`: what is tested
//! here is the HTTP layer. Numbers in names (S25, B41…) are those of the specification's lists.

#[path = "http/api.rs"]
mod api;
#[path = "http/authentication.rs"]
mod authentication;
#[path = "http/bad_input.rs"]
mod bad_input;
#[path = "http/browser.rs"]
mod browser;
#[path = "http/chat.rs"]
mod chat;
#[path = "http/chromium.rs"]
mod chromium;
#[path = "http/client.rs"]
mod client;
#[path = "http/clients.rs"]
mod clients;
#[path = "http/docs.rs"]
mod docs;
#[path = "http/fake.rs"]
mod fake;
#[path = "http/limits.rs"]
mod limits;
#[path = "http/mcp.rs"]
mod mcp;
#[path = "http/openapi.rs"]
mod openapi;
#[path = "http/page.rs"]
mod page;
#[path = "http/running.rs"]
mod running;
