//! Every command in the pages about HTTP is run as it stands there.

use std::process::Stdio;

use tokio::process::Command;

use crate::fake::PLAN_HASH;
use crate::running::Running;

#[tokio::test]
async fn every_command_in_the_docs_runs() {
    let curl = Command::new("curl").arg("--version").stdout(Stdio::null()).status().await;
    if !curl.is_ok_and(|status| status.success()) {
        println!("skipped: there is no curl here");
        return;
    }
    let server = Running::start().await;
    let mut run = 0;
    for page in ["http.md", "chat-programs.md", "mcp.md"] {
        let text = std::fs::read_to_string(format!("{}/docs/{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for block in text.split("```sh\n").skip(1) {
            let script = block.split("\n```").next().unwrap();
            let output = Command::new("sh")
                .args(["-c", script])
                .env("URL", format!("http://{}", server.address))
                .env("TOKEN", &server.owner)
                .env("ID", "01HOMELOOPAPPROVAL00000000")
                .env("HASH", PLAN_HASH)
                .output()
                .await
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && !said.is_empty(), "{page}: {script}\n{said}");
            run += 1;
        }
    }
    assert_eq!(run, 12);
}
