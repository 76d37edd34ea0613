//! How devices SPEAK: pure codecs between MQTT messages and the words of `home`.
//!
//! A codec decodes a message into an update of one entity's state and encodes an action into the exact messages that
//! perform it. Nothing here sends, decides or waits.

mod codec;
pub mod discovery;
mod file_error;
pub mod filters;
pub mod profile;
pub mod registry;
pub mod simulate;
pub mod template;
mod words;

pub use codec::{Codec, ConfirmHint, Decoded, EncodeError, Expiry, Fault, Message, Payload};
pub use file_error::{FileError, Source};
