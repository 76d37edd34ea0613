//! Leave given in advance: checked against the house, written down, put in force, and ended in time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::App;
use crate::home::{EntityId, Verb};
use crate::http::service::{GrantError, NewGrant, Unavailable};
use crate::http::views::GrantView;
use crate::journal::{Durability, NewEvent};
use crate::policy::{Grant, Principal};

/// How often grants are looked at that might have ended. What has ended is not used, looked at or not.
const LOOK: Duration = Duration::from_secs(30);

/// Fewest characters of a reason.
const REASON: usize = 5;

impl App {
    pub(super) fn grant_views(&self) -> Vec<GrantView> {
        let now = self.clock.now();
        self.door.grants().iter().filter(|grant| grant.until > now).map(view).collect()
    }

    /// Gives leave. It is in the journal, on disk, before it counts.
    pub(super) async fn give(&self, new: NewGrant, by: &Principal) -> Result<GrantView, GrantError> {
        let grant = self.checked(new, by)?;
        grant.check(by).map_err(|error| GrantError::Refused(error.to_string()))?;
        self.write_down("grant_given", &grant, by).await?;
        match self.door.grant(grant.clone(), by).await {
            Ok(()) => Ok(view(&grant)),
            Err(error) => Err(Unavailable(error.to_string()).into()),
        }
    }

    /// Takes leave back at once; the record follows.
    pub(super) async fn take_back(&self, id: &str, by: &Principal) -> Result<(), GrantError> {
        let known = self.door.grants().iter().find(|grant| grant.id == id).cloned();
        let Some(grant) = known else { return Err(GrantError::NotFound) };
        self.door.revoke(id).await.map_err(|error| Unavailable(error.to_string()))?;
        self.write_down("grant_revoked", &grant, by).await
    }

    /// Ends grants whose time is over, until the daemon stops.
    pub(super) async fn end_grants(self: Arc<Self>) {
        let end =
            Principal { name: "time".into(), channel: crate::policy::Channel::Schedule, scopes: Vec::new() };
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.clock.now();
            let over: Vec<Grant> =
                self.door.grants().iter().filter(|grant| grant.until <= now).cloned().collect();
            for grant in over {
                let ended = match self.door.revoke(&grant.id).await {
                    Ok(_) => {
                        self.write_down("grant_ended", &grant, &end).await.map_err(|error| error.to_string())
                    }
                    Err(error) => Err(error.to_string()),
                };
                if let Err(error) = ended {
                    tracing::warn!(grant = grant.id, error, "the end of a grant is not in the journal");
                }
            }
        }
    }

    fn checked(&self, new: NewGrant, by: &Principal) -> Result<Grant, GrantError> {
        let refused = |why: String| Err(GrantError::Refused(why));
        let house = self.house.read();
        let entity = EntityId::parse(&new.entity).map_err(|error| GrantError::Refused(error.to_string()))?;
        let Some(known) = house.entity(entity.as_str()) else {
            return refused(format!("there is no entity {entity}"));
        };
        let mut verbs = Vec::new();
        for word in &new.verbs {
            match Verb::from_word(word).filter(|verb| known.action(*verb).is_some()) {
                Some(verb) => verbs.push(verb),
                None => {
                    let can: Vec<&str> = known.actions.iter().map(|spec| spec.verb.word()).collect();
                    return refused(format!("{entity} has no {word:?}; it has {}", can.join(", ")));
                }
            }
        }
        if new.reason.trim().chars().count() < REASON {
            return refused(format!("a grant lowers, so it needs a reason of at least {REASON} characters"));
        }
        if new.principal.contains('*') {
            return refused("a grant is for one principal by its exact name, such as token:cleaner".into());
        }
        let now = self.clock.now();
        if new.until <= now {
            return refused("the end of the grant is over already".into());
        }
        Ok(Grant {
            id: self.clock.new_id(),
            entity,
            verbs,
            principal: new.principal,
            from: new.from.unwrap_or(now),
            until: new.until,
            plan_hash: None,
            given_by: by.name.clone(),
            reason: new.reason.trim().to_owned(),
        })
    }

    async fn write_down(&self, kind: &str, grant: &Grant, by: &Principal) -> Result<(), GrantError> {
        let body = json!({"grant": grant, "by": by.name});
        let written = async {
            let event = NewEvent::of_house(kind, &body)?.about([grant.entity.as_str()]);
            self.journal.append(event, Durability::Synced).await
        };
        written.await.map(drop).map_err(|error| Unavailable(error.to_string()).into())
    }
}

fn view(grant: &Grant) -> GrantView {
    GrantView {
        grant_id: grant.id.clone(),
        entity: grant.entity.to_string(),
        verbs: grant.verbs.iter().map(|verb| verb.word().to_owned()).collect(),
        principal: grant.principal.clone(),
        from: grant.from,
        until: grant.until,
        given_by: grant.given_by.clone(),
        reason: grant.reason.clone(),
    }
}
