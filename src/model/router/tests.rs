use std::time::Duration;

use chrono::DateTime;
use futures_util::StreamExt;

use super::*;
use crate::model::{Situation, ToolCall, ToolChoice};

/// A model that says one thing after another, a turn each; afterwards it fails.
struct Scripted {
    name: &'static str,
    turns: Mutex<VecDeque<Vec<Result<Delta, ModelError>>>>,
}

fn scripted(name: &'static str, turns: Vec<Vec<Result<Delta, ModelError>>>) -> Arc<dyn Model> {
    Arc::new(Scripted { name, turns: Mutex::new(turns.into()) })
}

impl Model for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn turn(&self, _: Arc<TurnRequest>) -> BoxStream<'static, Result<Delta, ModelError>> {
        let next = self.turns.lock().expect("lock").pop_front();
        let turn = next.unwrap_or_else(|| vec![Err(ModelError::Cut("script over".to_owned()))]);
        futures_util::stream::iter(turn).boxed()
    }
}

fn says(text: &str) -> Vec<Result<Delta, ModelError>> {
    vec![Ok(Delta::Text(text.to_owned())), Ok(Delta::End(Stop::Ended))]
}

fn calls() -> Result<Delta, ModelError> {
    let call = ToolCall { id: "a".to_owned(), name: "light".to_owned(), arguments: "{}".to_owned() };
    Ok(Delta::Call(call))
}

fn fails(error: ModelError) -> Vec<Result<Delta, ModelError>> {
    vec![Ok(Delta::Text("never to be seen".to_owned())), Err(error)]
}

fn refused() -> ModelError {
    ModelError::Status { status: 401, message: "no".to_owned(), retry_after: None }
}

fn not_understood() -> Vec<Result<Delta, ModelError>> {
    vec![Err(ModelError::NotUnderstood { reply: "I did not understand that.".to_owned() })]
}

fn router(mode: Mode, offline: Option<Arc<dyn Model>>, chain: Vec<Arc<dyn Model>>) -> Router {
    let clock = Clock::simulated(DateTime::UNIX_EPOCH, 1);
    Router::new(mode, offline, chain, BreakerSettings { failures: 3, pause_ms: 30_000 }, clock)
}

/// One turn: who was asked, what was said, how it ended.
async fn turn(router: &Router, task: &str, turns: usize) -> (Vec<String>, String, Result<(), ModelError>) {
    let situation = Situation { task: task.to_owned(), turns, ..Situation::default() };
    let request = TurnRequest {
        system: "".into(),
        tools: Arc::from([]),
        messages: Vec::new(),
        tool_choice: ToolChoice::Auto,
        max_tokens: 100,
        deadline: None,
        stop: Default::default(),
        situation: Arc::new(situation),
    };
    let (mut asked, mut said, mut end) = (Vec::new(), String::new(), Ok(()));
    let mut stream = router.turn(Arc::new(request));
    while let Some(item) = stream.next().await {
        match item {
            Ok(Delta::Model(name)) => asked.push(name.to_string()),
            Ok(Delta::Text(text)) => said.push_str(&text),
            Ok(Delta::Call(_) | Delta::Usage(_) | Delta::End(_)) => {}
            Err(error) => end = Err(error),
        }
    }
    (asked, said, end)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn offline_first_asks_a_language_model_only_for_what_is_not_understood() {
    let offline = scripted("offline", vec![says("on"), says("still on"), not_understood()]);
    let chain = vec![scripted("a", vec![says("from a"), says("a again")])];
    let router = router(Mode::OfflineFirst, Some(offline), chain);
    assert_eq!(turn(&router, "1", 0).await, (names(&["offline"]), "on".to_owned(), Ok(())));
    assert_eq!(turn(&router, "1", 1).await.0, names(&["offline"]), "the task stays with who started it");
    assert_eq!(turn(&router, "2", 0).await, (names(&["offline", "a"]), "from a".to_owned(), Ok(())));
    assert_eq!(turn(&router, "2", 1).await.0, names(&["a"]));
}

#[tokio::test(start_paused = true)]
async fn no_model_left_gives_the_honest_reply() {
    for mode in [Mode::OfflineFirst, Mode::Model] {
        let offline = scripted("offline", vec![not_understood()]);
        let chain = vec![scripted("a", vec![fails(refused())])];
        let (_, said, end) = turn(&router(mode, Some(offline), chain), "1", 0).await;
        assert_eq!((said.as_str(), end), ("I did not understand that.", Ok(())), "{mode:?}");
    }
    let offline = scripted("offline", vec![not_understood()]);
    let router = router(Mode::Offline, Some(offline), vec![scripted("a", vec![says("never asked")])]);
    assert_eq!(turn(&router, "1", 0).await.0, names(&["offline"]));
}

#[tokio::test(start_paused = true)]
async fn without_language_models_basic_commands_still_work() {
    let offline = scripted("offline", vec![says("light on")]);
    let router = router(Mode::Model, Some(offline), vec![scripted("a", vec![])]);
    assert_eq!(turn(&router, "1", 0).await, (names(&["a", "offline"]), "light on".to_owned(), Ok(())));
    let (asked, _, end) = turn(&router, "2", 3).await;
    assert_eq!(asked, names(&["a"]), "a task that a model began is not begun again offline");
    assert!(matches!(end, Err(ModelError::NoneLeft(_))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn the_next_model_takes_over_and_keeps_the_task() {
    let first = scripted("a", vec![fails(refused()), says("a is back")]);
    let second = scripted("b", vec![says("from b"), says("b again"), fails(refused())]);
    let router = router(Mode::Model, None, vec![first, second]);
    assert_eq!(turn(&router, "1", 0).await, (names(&["a", "b"]), "from b".to_owned(), Ok(())));
    assert_eq!(turn(&router, "1", 1).await.0, names(&["b"]));
    assert_eq!(turn(&router, "1", 2).await, (names(&["b", "a"]), "a is back".to_owned(), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_a_call_goes_to_the_loop_and_nothing_is_asked_again() {
    let first = scripted("a", vec![vec![calls(), Err(ModelError::Cut("cut".to_owned()))]]);
    let second = scripted("b", vec![says("never asked")]);
    let router = router(Mode::Model, None, vec![first, second]);
    let (asked, said, end) = turn(&router, "1", 0).await;
    assert_eq!((asked, said), (names(&["a"]), String::new()));
    assert_eq!(end, Err(ModelError::Cut("cut".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_full_context_is_the_loops_to_mend() {
    let first = scripted("a", vec![fails(ModelError::ContextFull("long".to_owned())), says("shorter")]);
    let router = router(Mode::Model, None, vec![first, scripted("b", vec![])]);
    assert!(matches!(turn(&router, "1", 1).await.2, Err(ModelError::ContextFull(_))));
    assert_eq!(turn(&router, "1", 1).await.0, names(&["a"]));
    assert_eq!(router.states()[0].breaker, BreakerState::Closed { failures_in_a_row: 0 });
}

#[tokio::test(start_paused = true)]
async fn a_model_that_keeps_failing_is_paused_and_shown_so() {
    let mut script: Vec<_> = (0..3).map(|_| fails(refused())).collect();
    script.push(says("a is back"));
    let chain = vec![scripted("a", script), scripted("b", (0..4).map(|_| says("b")).collect())];
    let router = router(Mode::Model, None, chain);
    for task in ["1", "2", "3"] {
        assert_eq!(turn(&router, task, 0).await.0, names(&["a", "b"]));
    }
    assert_eq!(turn(&router, "4", 0).await.0, names(&["b"]), "a is paused");
    let shown = serde_json::to_value(router.states()).expect("JSON");
    assert_eq!(shown[0], serde_json::json!({"name": "a", "state": "open", "milliseconds_left": 30_000}));
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(turn(&router, "5", 0).await, (names(&["a"]), "a is back".to_owned(), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn money_spent_leaves_the_offline_model() {
    let offline = scripted("offline", vec![not_understood()]);
    let router = router(Mode::OfflineFirst, Some(offline), vec![scripted("a", vec![says("never asked")])]);
    let (asked, said, _) = turn(&router.with_mode(Mode::Offline), "1", 0).await;
    assert_eq!((asked, said.as_str()), (names(&["offline"]), "I did not understand that."));
}
