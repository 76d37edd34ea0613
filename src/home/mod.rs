//! What the house IS: entities, states, actions, places, and the registry that holds them.
//!
//! Pure and synchronous, no I/O. It knows nothing of MQTT, of models or of policy: a codec in `devices` turns
//! messages into [`Update`]s and [`Action`]s into messages, and everything above reads the [`House`].

mod action;
mod entity;
pub mod find;
mod house;
mod place;
mod shared;
mod spec;
mod state;

pub use action::{Action, Arg, ArgValue, Args, Verb};
pub use entity::{BadEntityId, Category, Device, Domain, Entity, EntityId, HOME_FILE, Name};
pub use house::{Change, House};
pub use place::{Area, Floor, Person, Places, Scene, SceneStep};
pub use shared::{SharedHouse, Watch};
pub use spec::{ActionSpec, ArgError, ArgKind, ArgSpec};
pub use state::{Attr, Availability, Stamp, State, Update, attr};
