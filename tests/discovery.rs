//! Discovery over recorded messages of real producers.

mod discovery {
    mod bugs;
    mod corpus;
    mod data;
    mod expected;
    mod fuzz;
    mod native;
    mod replay;
    mod safety;
    mod templates;
    mod world;
}
