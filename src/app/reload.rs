//! Reading home file and policy again while the daemon runs. What is broken is told, and the old one stays in force.
//!
//! Settings, device profiles that are built in, and the time zone are not read again: they need a restart.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::App;
use crate::devices::profile::Profiles;
use crate::home::{EntityId, House};
use crate::policy::Policy;
use crate::settings::home_file::HomeFile;
use crate::settings::{given, policy_file};

/// What a reload did with one of the files, in a sentence for logs and for systemd.
type Told = Result<String, String>;

impl App {
    /// Reads both files again. Each is taken whole or not at all. Returns one sentence for each; `Err` where the old
    /// one stays.
    pub async fn reload(&self) -> [Told; 2] {
        self.secrets.reload();
        let told = [self.reload_home().await, self.reload_policy().await];
        for sentence in &told {
            match sentence {
                Ok(sentence) => tracing::info!("{sentence}"),
                Err(sentence) => tracing::error!("{sentence}"),
            }
        }
        told
    }

    async fn reload_home(&self) -> Told {
        let home = &self.settings.home;
        let Some(file) = given(&home.file) else {
            return Ok("no home file is set; there is none to read".into());
        };
        let stays = |error: String| format!("the home file is broken; the old one stays in force: {error}");
        let mut profiles = Profiles::embedded().map_err(|error| stays(error.to_string()))?;
        if let Some(folder) = given(&home.profiles) {
            profiles = profiles.with_folder(folder).map_err(|error| stays(error.to_string()))?;
        }
        let home = HomeFile::load(file, &profiles).map_err(|error| stays(error.to_string()))?;
        self.take_home(home)?;
        // Approvals that rest on an entity as it was must not be carried out on the entity as it is.
        self.door.recheck().await.map_err(|error| {
            format!("the home file was read again, and open approvals could not be checked: {error}")
        })?;
        let house = self.house.read();
        Ok(format!("the home file was read again: {} entities, {} scenes", house.len(), house.scenes.len()))
    }

    /// Puts the home in place of the one before. Known states are kept.
    fn take_home(&self, home: HomeFile) -> Result<(), String> {
        let now: BTreeSet<EntityId> = home.entities.iter().map(|known| known.entity.id.clone()).collect();
        let before = {
            let mut ids = self.home_ids.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *ids, now.clone())
        };
        {
            // One lock for all of it: nobody sees half a home.
            let mut house = self.house.write();
            for gone in before.difference(&now) {
                house.remove(gone);
            }
            keep_suggested_areas(&mut house, &home);
            house.scenes.clear();
            for scene in &home.scenes {
                house.insert_scene(scene.clone());
            }
            for known in &home.entities {
                house.insert(known.entity.clone());
            }
        }
        let mut unneeded = Vec::new();
        for gone in before.difference(&now) {
            unneeded.extend(self.registry.remove(gone));
        }
        let port = Arc::new(self.link.clone());
        for known in &home.entities {
            let id = &known.entity.id;
            match &known.codec {
                Some(codec) => {
                    let needed = self.registry.insert(id.clone(), codec.clone(), port.clone());
                    self.link.subscribe(needed).map_err(|error| format!("{id}: {error}"))?;
                }
                None => unneeded.extend(self.registry.remove(id)),
            }
        }
        self.link.unsubscribe(unneeded.iter().map(String::as_str));
        self.discovery.correct(home.overrides);
        Ok(())
    }

    async fn reload_policy(&self) -> Told {
        let policy = match given(&self.settings.policy.file) {
            Some(file) => policy_file::load(file).map_err(|error| {
                format!("the policy file is broken; the old policy stays in force: {error}")
            })?,
            None => Policy::default(),
        };
        match self.door.set_policy(policy.of_home(&self.discovery.home_version())).await {
            Ok(()) => Ok("the policy was read again".into()),
            Err(error) => {
                Err(format!("the policy was read again, and open approvals could not be checked: {error}"))
            }
        }
    }
}

/// The new places, and those areas that only announced entities named and still stand in.
fn keep_suggested_areas(house: &mut House, home: &HomeFile) {
    let used: BTreeSet<String> = house.entities().filter_map(|entity| entity.area.clone()).collect();
    let old = std::mem::replace(&mut house.places, home.places.clone());
    for (id, area) in old.areas {
        if used.contains(&id) {
            house.places.areas.entry(id).or_insert(area);
        }
    }
}
