//! Discovery over recorded messages of real producers.

mod discovery {
    mod data;
    mod templates;
}
