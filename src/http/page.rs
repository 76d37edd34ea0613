//! The page at `/`: three static files, without a framework and without a build step.
//!
//! They hold nothing of the home, so anybody may load them; what they show is read with the person's token.

use axum::http::header;
use axum::response::IntoResponse;

/// The files of the page, compiled in.
pub const HTML: &str = include_str!("page/index.html");
pub const SCRIPT: &str = include_str!("page/page.js");
pub const STYLE: &str = include_str!("page/page.css");

pub async fn html() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], HTML)
}

pub async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT)
}

pub async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of devices must never be read as markup, and the content security policy must have nothing to forgive.
    #[test]
    fn s42_the_page_puts_text_in_as_text_alone() {
        for bad in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "setHTML",
            "DOMParser",
            "createContextualFragment",
            "srcdoc",
            ".href",
            ".src",
            "setAttribute",
            "javascript:",
            "localStorage",
            "document.cookie",
        ] {
            assert!(!SCRIPT.contains(bad), "page.js contains {bad}");
        }
        for bad in ["<style", "style=", " on", "<iframe", "http://", "https://"] {
            assert!(!HTML.contains(bad), "index.html contains {bad:?}");
        }
        assert!(!HTML.contains("<script>"), "no inline script");
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
