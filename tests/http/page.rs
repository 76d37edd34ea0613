//! S41: the page in a real browser, with names that would like to be scripts. Skipped where there is no chromium.

use homeloop::agent::Event;
use homeloop::http::routes::table;
use homeloop::http::service::{AnswerWord, LiveEvent};
use homeloop::http::views::TaskEvent;
use serde_json::{Value, json};

use crate::chromium::Page;
use crate::client::{raw, request};
use crate::fake::{PLAN_HASH, task_event};
use crate::running::Running;

/// Thirty names; each sets the title of the document if it is ever read as markup or script.
const NAMES: [&str; 30] = [
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "<svg onload=\"document.title='pwned'\">",
    "<svg><script>document.title='pwned'</script></svg>",
    "</script><script>document.title='pwned'</script>",
    "</title><script>document.title='pwned'</script>",
    "</textarea><img src=x onerror=document.title='pwned'>",
    "\"><img src=x onerror=document.title='pwned'>",
    "'><img src=x onerror=document.title='pwned'>",
    "\" onfocus=document.title='pwned' autofocus x=\"",
    "' onmouseover=document.title='pwned' x='",
    "javascript:document.title='pwned'",
    "<a href=\"javascript:document.title='pwned'\">x</a>",
    "<iframe srcdoc=\"<script>parent.document.title='pwned'</script>\">",
    "<iframe src=\"javascript:parent.document.title='pwned'\">",
    "<body onload=document.title='pwned'>",
    "<input autofocus onfocus=document.title='pwned'>",
    "<details open ontoggle=document.title='pwned'>",
    "<video><source onerror=document.title='pwned'></video>",
    "<math><mtext><img src=x onerror=document.title='pwned'></mtext></math>",
    "<template><script>document.title='pwned'</script></template>",
    "<style>@import 'x';</style><script>document.title='pwned'</script>",
    "<base href=\"https://evil.example/\">",
    "<meta http-equiv=refresh content=\"0;url=javascript:document.title='pwned'\">",
    "<form action=\"https://evil.example\"><button>x</button></form>",
    "<object data=\"javascript:document.title='pwned'\"></object>",
    "${document.title='pwned'}",
    "{{constructor.constructor('document.title=1')()}}",
    "&lt;script&gt;document.title='pwned'&lt;/script&gt;",
    "<!--<img src=\"--><img src=x onerror=document.title='pwned'>",
];

#[tokio::test]
async fn s41_thirty_names_stay_text_in_a_browser() {
    let server = Running::start().await;
    *server.fake.names.lock().unwrap() = NAMES.map(str::to_owned).to_vec();
    let Some(mut page) = open(&server, "en-US").await else { return };
    page.until("document.querySelectorAll('.entity').length === 30").await;
    page.until("document.querySelectorAll('.ask').length === 30").await;
    for name in NAMES {
        let told = LiveEvent::Task(TaskEvent {
            event: Event::Interim { text: name.into() },
            ..task_event("task-9", 0)
        });
        server.fake.live.send(told).unwrap();
    }
    page.until("document.querySelectorAll('.steps li').length > 0").await;

    assert_eq!(page.value("document.title").await, "homeloop", "no name became a script");
    let shown = page.value("[...document.querySelectorAll('.entity .name')].map((e) => e.textContent)").await;
    for name in NAMES {
        assert!(shown.as_array().unwrap().contains(&json!(name)), "{name} is shown as it is");
    }
    let strange = "script:not([src='/page.js']), img, svg, iframe, style, object, video, base, template, details, \
                   math, a, body [onload], [onerror], [onfocus], [onclick], meta[http-equiv]";
    assert_eq!(page.value(&format!("document.querySelectorAll({}).length", json!(strange))).await, 0);
    assert_eq!(page.value("document.forms.length").await, 2, "the page's own");
    assert_eq!(page.complaints, Vec::<Value>::new(), "the content security policy had nothing to report");
    let held = format!("document.documentElement.innerHTML.includes({})", json!(server.owner));
    assert_eq!(page.value(&held).await, false, "the token is not in the document");
    assert_eq!(page.value("location.href.includes('token')").await, false, "nor in the address");
}

#[tokio::test]
async fn a_person_commands_and_denies_in_the_browser() {
    let server = Running::start().await;
    let Some(mut page) = open(&server, "zh-CN").await else { return };
    page.until("document.querySelector('.ask .deny') !== null").await;
    assert_eq!(page.value("document.activeElement.textContent").await, "拒绝", "deny has the focus");
    let order = "[...document.querySelectorAll('.choice button')].map((button) => button.textContent)";
    assert_eq!(page.value(order).await, json!(["拒绝", "批准"]), "and stands first");
    let seen = page.value("document.querySelector('.ask').textContent").await;
    for part in ["lock.front_door", "0x00158d0001a2b3c4", "47", "1:5", "Kitchen ceiling"] {
        assert!(seen.as_str().unwrap().contains(part), "{part}: {seen}");
    }
    page.value("document.querySelector('.deny').click()").await;
    page.until("document.querySelector('.ask') === null").await;
    let (answer, by) = server.fake.answered.lock().unwrap()[0].clone();
    assert_eq!((answer.decision, answer.plan_hash.as_str()), (AnswerWord::Deny, PLAN_HASH));
    assert_eq!(by.name, "token:owner");

    page.value("document.getElementById('command').value = '打开客厅灯'").await;
    page.value("document.getElementById('send').click()").await;
    page.until("document.getElementById('tasks').textContent.includes('打开客厅灯')").await;
    assert_eq!(server.fake.submitted.lock().unwrap()[0].0.text, "打开客厅灯");
    assert_eq!(page.complaints, Vec::<Value>::new());

    server.tokens.revoke("owner").unwrap();
    page.until("!document.getElementById('enter').hidden").await;
    assert_eq!(
        page.value("document.querySelectorAll('.entity').length").await,
        0,
        "nothing of the home stays"
    );
}

/// The page with the owner's token, or a word that it is skipped.
async fn open(server: &Running, language: &str) -> Option<Page> {
    let page = Page::open(&format!("http://{}/#token={}", server.address, server.owner), language).await;
    if page.is_none() {
        println!("skipped: there is no chromium here");
    }
    page
}

#[tokio::test]
async fn the_page_is_served_to_anybody_with_its_types() {
    let server = Running::start().await;
    for (path, kind) in [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")] {
        let response = raw(server.address, request("GET", path, &[], "")).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), Some(&*format!("{kind}; charset=utf-8")));
        assert!(table().iter().any(|route| route.path == path));
    }
    // A link in a message may open it; a frame or a script of another site may not.
    let from = |mode: &str, destination: &str| {
        let headers = [
            "Sec-Fetch-Site: cross-site".to_owned(),
            format!("Sec-Fetch-Mode: {mode}"),
            format!("Sec-Fetch-Dest: {destination}"),
        ];
        request("GET", "/", &headers.each_ref().map(String::as_str), "")
    };
    assert_eq!(raw(server.address, from("navigate", "document")).await.status, 200);
    assert_eq!(raw(server.address, from("navigate", "iframe")).await.status, 403);
    assert_eq!(raw(server.address, from("no-cors", "script")).await.status, 403);
}
