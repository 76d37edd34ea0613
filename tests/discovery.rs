//! Discovery over recorded messages of real producers.

mod discovery {
    mod corpus;
    mod data;
    mod expected;
    mod replay;
    mod templates;
    mod world;
}
