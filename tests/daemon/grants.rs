//! "Until 18:00 the cleaner may open the side door", with the real binary and its command line.

use serde_json::json;

use crate::common::mosquitto::{Mosquitto, Options};
use crate::process::{Daemon, Lock, free_port, homeloop, private};

const HOME: &str = r#"
[[entity]]
id = "lock.side_door"
name = "Side door"
profile = "plain.lock"
with = { topic = "home/side" }
[[entity]]
id = "lock.front_door"
name = "Front door"
profile = "plain.lock"
with = { topic = "home/front" }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_opens_one_door_to_one_person_until_it_is_taken_back() {
    let Some(mosquitto) = Mosquitto::start(Options::default()).await else { return };
    let dir = tempfile::tempdir().unwrap();
    let home = private(dir.path().join("home.toml"), HOME);
    let settings = format!(
        "[home]\nfile = {home:?}\n[mqtt]\nbroker = \"external\"\nport = {}\n[http]\nbind = \"127.0.0.1:{}\"\n",
        mosquitto.address.port(),
        free_port(),
    );
    let daemon = Daemon::start(dir.path(), &settings).await;
    let lock = Lock::start(mosquitto.address, None, "home/side").await;
    lock.turn("locked").await;
    daemon.has("lock.side_door", "locked").await;
    let token = |name: &str, scope: &[&str]| {
        let file = dir.path().join(name);
        let path = file.to_str().unwrap().to_owned();
        let mut arguments: Vec<String> =
            ["token", "create", name, "--out", &path].into_iter().map(str::to_owned).collect();
        for scope in scope {
            arguments.extend(["--scope".to_owned(), (*scope).to_owned()]);
        }
        let dir = dir.path().to_owned();
        async move {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            homeloop(&dir, &arguments).await;
            std::fs::read_to_string(file).unwrap().trim().to_owned()
        }
    };
    let (cleaner, admin) =
        (token("cleaner", &["read", "command"]).await, token("boss", &["read", "admin"]).await);
    let list = homeloop(dir.path(), &["token", "list"]).await;
    assert!(list.contains("cleaner") && list.contains("read,admin") && !list.contains(&admin), "{list}");
    // The daemon follows the file by itself.
    crate::common::soon("the new tokens count", async {
        while daemon.post_as(&cleaner, "/api/commands", &json!({"text": "hello"})).await.0 == 401 {
            tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        }
    })
    .await;
    let unlock = json!({"text": "unlock the side door", "wait_s": 0});
    // Nobody without admin gives leave, and not through a proxy.
    let wish = json!({
        "entity": "lock.side_door", "verbs": ["unlock"], "principal": "token:cleaner",
        "until": "2099-01-01T00:00:00Z", "reason": "cleans on Mondays",
    });
    assert_eq!(daemon.post_as(&cleaner, "/api/grants", &wish).await.0, 403);
    assert_eq!(daemon.post("/api/grants", &wish).await.0, 403, "the owner's first token has no admin");
    let too_long = daemon.post_as(&admin, "/api/grants", &wish).await;
    assert_eq!(too_long.0, 400, "{}", too_long.1);
    let file = dir.path().join("boss");
    let as_admin = ["--token-file", file.to_str().unwrap()];
    let give = [
        "grant",
        "give",
        "lock.side_door",
        "unlock",
        "--to",
        "token:cleaner",
        "--until",
        "2h",
        "--reason",
        "cleans on Mondays",
    ];
    let given = homeloop(dir.path(), &[&give[..], &as_admin].concat()).await;
    let id = given.split_whitespace().next().unwrap().to_owned();
    let listed = homeloop(dir.path(), &[&["grant", "list"][..], &as_admin].concat()).await;
    assert!(listed.contains(&id) && listed.contains("token:cleaner may unlock lock.side_door"), "{listed}");

    let (_, done) = daemon.post_as(&cleaner, "/api/commands", &json!({"text": "unlock the side door"})).await;
    assert_eq!(done["outcomes"][0]["outcome"], "confirmed", "{done}");
    assert!(daemon.get("/api/approvals").await.as_array().unwrap().is_empty(), "nobody was asked");
    lock.turn("locked").await;
    daemon.has("lock.side_door", "locked").await;
    // Another person, and another door, are asked about as ever.
    let task = daemon.give("unlock the side door").await;
    let approval = daemon.approval().await;
    daemon.decide(&approval, "deny").await;
    daemon.result(&task).await;
    let other = json!({"text": "unlock the front door", "wait_s": 0});
    daemon.post_as(&cleaner, "/api/commands", &other).await;
    let approval = daemon.approval().await;
    daemon.decide(&approval, "deny").await;

    homeloop(dir.path(), &[&["grant", "revoke", &id][..], &as_admin].concat()).await;
    daemon.post_as(&cleaner, "/api/commands", &unlock).await;
    let approval = daemon.approval().await;
    assert_eq!(approval["requested_by"], "token:cleaner", "it is asked about again");
    assert_eq!(lock.commands(), ["unlock"]);
    let record = homeloop(dir.path(), &["journal", "export"]).await;
    for kind in ["grant_given", "grant_revoked"] {
        assert!(record.contains(&format!("\"kind\":\"{kind}\"")), "{kind} is in the journal");
    }
    assert!(
        record.contains(&format!("lowered to G1 by grant {id}")) || record.contains("\"decision\":\"allow\"")
    );
    daemon.kill().await;
}
