//! The house's tools for other agents: a Model Context Protocol server at `/mcp` (streamable HTTP).
//!
//! It keeps no sessions: every request carries its token and is checked like any other, so a revoked token is out at
//! once and an idle client holds nothing. Host, Origin and body are checked by the layers before. The tools are the
//! daemon's, behind the same door; what needs a person is answered with the address of the page where a person can
//! decide, and nothing that arrives here ever counts as that decision.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Shared;
use super::access::Caller;
use super::fault::Fault;
use super::guard::Connection;
use super::service::{Progress, ToolError, ToolHost, ToolReply, ToolSpec};
use super::views::ErrorView;

const INSTRUCTIONS: &str = "Tools of one home. Each result says per entity what the house confirmed; do not claim \
    more. Some actions wait for a person: then the result names the page where a person decides, and repeating the \
    call does not help.";

pub(super) type McpService = StreamableHttpService<HomeTools, LocalSessionManager>;

/// The protocol server for `tools`.
pub(super) fn service(tools: Arc<dyn ToolHost>, public_url: Option<String>, body_bytes: usize) -> McpService {
    // Hosts and origins were checked by the guard, for this path as for every other.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body_bytes)
        .disable_allowed_hosts();
    let factory = move || Ok(HomeTools { tools: Arc::clone(&tools), public_url: public_url.clone() });
    StreamableHttpService::new(factory, Arc::default(), config)
}

#[utoipa::path(
    post, path = "/mcp", tag = "agents",
    request_body(content = serde_json::Value, examples(
        ("the tools" = (value = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))),
    )),
    responses((status = 200), (status = 404, body = ErrorView)),
)]
/// Model Context Protocol: one JSON-RPC message. `Accept` must name JSON and event streams.
pub async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match &shared.mcp {
        Some(service) => service.handle(request).await.into_response(),
        None => Fault::not_found("there are no tools here").into_response(),
    }
}

/// One request's view of the tools.
pub(super) struct HomeTools {
    tools: Arc<dyn ToolHost>,
    public_url: Option<String>,
}

impl ServerHandler for HomeTools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("homeloop", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.list().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unauthorized = || ErrorData::internal_error("the request came without its caller", None);
        let parts = context.extensions.get::<Parts>().ok_or_else(unauthorized)?;
        let caller = parts.extensions.get::<Caller>().ok_or_else(unauthorized)?;
        let page = page_url(self.public_url.as_deref(), parts);
        let (told, heard) = mpsc::unbounded_channel();
        // A receiver that is gone means that nobody wants to know any more.
        let progress: Progress = Arc::new(move |text| drop(told.send(text)));
        let arguments = request.arguments.unwrap_or_default();
        let call = self.tools.call(&request.name, arguments, caller.principal.clone(), progress);
        let reply = match context.meta.get_progress_token() {
            Some(token) => with_progress(call, heard, &context.peer, token).await,
            None => call.await,
        };
        match reply {
            Ok(reply) => Ok(result(reply, &page).into()),
            Err(ToolError::Unknown(name)) => {
                let mut error = ErrorData::method_not_found::<CallToolRequestMethod>();
                error.message = format!("no such tool: {name}").into();
                Err(error)
            }
            Err(ToolError::Unavailable(error)) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

/// Tells the client each sentence of progress until the call ends.
async fn with_progress(
    mut call: impl Future<Output = Result<ToolReply, ToolError>> + Unpin,
    mut heard: mpsc::UnboundedReceiver<String>,
    peer: &Peer<RoleServer>,
    token: ProgressToken,
) -> Result<ToolReply, ToolError> {
    let mut steps = 0.0;
    loop {
        tokio::select! {
            biased;
            Some(text) = heard.recv() => {
                steps += 1.0;
                let param = ProgressNotificationParam::new(token.clone(), steps).with_message(text);
                if let Err(error) = peer.notify_progress(param).await {
                    tracing::debug!(%error, "progress could not be told");
                }
            }
            reply = &mut call => return reply,
        }
    }
}

fn tool(spec: ToolSpec) -> Tool {
    let annotations = ToolAnnotations::from_raw(
        None,
        Some(spec.read_only),
        Some(spec.destructive),
        Some(spec.idempotent),
        // The house is all that these tools touch.
        Some(false),
    );
    Tool::new(spec.name, spec.description, spec.schema).with_annotations(annotations)
}

fn result(reply: ToolReply, page: &str) -> CallToolResult {
    let mut structured = match reply.result {
        Value::Object(object) => object,
        other => serde_json::Map::from_iter([("result".to_owned(), other)]),
    };
    let mut text = reply.text;
    if let Some(id) = reply.approval_id {
        let url = format!("{page}/#approval={id}");
        text = format!("{text}\nA person must decide at {url}");
        structured.insert("approval".into(), json!({"approval_id": id, "url": url}));
    }
    let content = vec![ContentBlock::text(text)];
    let mut result =
        if reply.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = Some(Value::Object(structured));
    result
}

/// Where a person finds the page: as the owner set it, else as this client reached us.
fn page_url(public: Option<&str>, parts: &Parts) -> String {
    if let Some(url) = public {
        return url.trim_end_matches('/').to_owned();
    }
    let tls = parts.extensions.get::<Connection>().is_some_and(|ends| ends.tls);
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("{}://{host}", if tls { "https" } else { "http" })
}
