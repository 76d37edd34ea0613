//! Real client libraries (Python's `openai`, `ollama` and `mcp`) against our endpoints. Skipped where they are not
//! installed: `pip install openai ollama mcp`.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::running::Running;

#[tokio::test]
async fn real_client_libraries_understand_us() {
    let importing =
        Command::new("python3").args(["-c", "import openai, ollama, mcp"]).stderr(Stdio::null()).status();
    if !importing.await.is_ok_and(|status| status.success()) {
        println!("skipped: python3 has no openai, ollama and mcp");
        return;
    }
    let server = Running::start().await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/clients.py");
    let run = Command::new("python3")
        .arg(script)
        .args([format!("http://{}", server.address), server.owner.clone()])
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(120), run).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        ["openai", "openai stream", "ollama", "ollama stream", "mcp"]
    );
}
