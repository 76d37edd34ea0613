//! A real server with an OpenAI-compatible endpoint, where one is given.

use homeloop::model::probe::models_test;

use crate::harness::{model, model_settings};
use crate::model_server::Api;

/// `HOMELOOP_TEST_MODEL_URL`, such as `http://127.0.0.1:18080/v1`; `HOMELOOP_TEST_MODEL` names the model (`local`).
#[tokio::test]
async fn a_real_server_makes_a_round_trip() {
    let Ok(url) = std::env::var("HOMELOOP_TEST_MODEL_URL") else {
        println!("skipped: HOMELOOP_TEST_MODEL_URL is not set");
        return;
    };
    let mut settings = model_settings(Api::OpenAi, &url);
    settings.model = std::env::var("HOMELOOP_TEST_MODEL").unwrap_or_else(|_| "local".to_owned());
    settings.limits.first_byte_ms = 120_000;
    settings.limits.total_ms = 180_000;
    let report = models_test(&*model(settings), 200).await;
    println!("{report}");
    // What a small model understands is not ours to assert; that the wire works is.
    assert_eq!(report.error, None);
    assert!(report.usage.input_tokens > 0 && report.usage.output_tokens > 0);
}
