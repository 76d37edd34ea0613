//! A link that answers as it is told, and a device that needs two messages and reports nothing by itself.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use homeloop::actuate::{
    Codecs, Containment, Door, DoorParts, OutcomeEntry, Port, Secret, Secrets, SendError,
};
use homeloop::devices::{Codec, Decoded, EncodeError, Message, Payload};
use homeloop::home::{Action, EntityId, State, Update};
use homeloop::policy::{Asked, Permit, Policy};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::world::{World, requester};

/// Answers in this order, and then takes everything.
#[derive(Default)]
pub struct Link {
    pub answers: Mutex<VecDeque<Taken>>,
    /// Never answers.
    pub mute: AtomicBool,
    pub sent: Mutex<Vec<String>>,
}

/// Whether a message was taken.
pub type Taken = Result<(), SendError>;

struct Wire(Arc<Link>);

impl Port for Wire {
    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            if self.0.mute.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let answer = self.0.answers.lock().unwrap().pop_front().unwrap_or(Ok(()));
            if !matches!(answer, Err(SendError::Down(_) | SendError::Refused(_))) {
                self.0.sent.lock().unwrap().push(message.payload.to_string());
            }
            answer
        })
    }

    fn is_up(&self) -> bool {
        true
    }

    fn connection(&self) -> u64 {
        1
    }
}

/// Two messages: the code and the verb. The value that it will have is assumed.
struct InTwo;

impl Codec for InTwo {
    fn subscriptions(&self) -> Vec<String> {
        Vec::new()
    }

    fn decode(&self, _topic: &str, _payload: &Payload<'_>, _now: &State) -> Decoded {
        Decoded::Nothing
    }

    fn encode(&self, action: &Action, _now: &State) -> Result<Vec<Message>, EncodeError> {
        let topic = format!("dev/{}/set", action.entity);
        Ok(vec![
            Message::text(topic.clone(), "code ${secret:panel}".to_owned()),
            Message::text(topic, action.verb.to_string()),
        ])
    }

    fn assume(&self, action: &Action, _now: &State) -> Option<Update> {
        Some(Update::value(format!("assumed {}", action.verb)))
    }
}

struct InTwoOver(Arc<Link>);

impl Codecs for InTwoOver {
    fn codec(&self, _entity: &EntityId) -> Option<(Arc<dyn Codec>, Arc<dyn Port>)> {
        Some((Arc::new(InTwo), Arc::new(Wire(self.0.clone()))))
    }
}

struct Code(&'static str);

impl Secrets for Code {
    fn secret(&self, _name: &str) -> Option<Secret> {
        Some(Secret { value: SecretString::from(self.0), version: "1".into() })
    }
}

/// Does what needs nobody through a door onto `link`, with this code.
pub async fn act(world: &World, link: &Arc<Link>, code: &'static str, action: Action) -> OutcomeEntry {
    let door = Door::new(DoorParts {
        house: world.house.clone(),
        codecs: Arc::new(InTwoOver(link.clone())),
        secrets: Arc::new(Code(code)),
        store: world.store.clone(),
        policy: Policy::default(),
        containment: Containment::default(),
        clock: world.clock.clone(),
        zone: chrono_tz::Tz::UTC,
    });
    let plan = door.plan(&[action]).unwrap();
    let who = requester();
    let asked = Asked { principal: &who, conversation: None, taint: None, sent: &[] };
    let permit = Permit::free(&door.decide(&plan, &asked)).expect("it needs nobody");
    door.perform(&plan, permit, world.record.as_ref(), &CancellationToken::new()).await.remove(0)
}
