//! The houses of a file of homes, built once each.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::home::{self, HomeFile};
use super::home_llm;
use super::task::{Goal, Task};
use crate::home::House;

/// All homes of a file, by id.
pub struct Homes {
    houses: BTreeMap<String, House>,
    /// The file's first home: for sentences that belong to none.
    first: Option<HomeFile>,
    /// Areas of devices, by home and device.
    places: BTreeMap<(String, String), String>,
    now: DateTime<Utc>,
}

/// Why there is no house for a task.
#[derive(Debug, thiserror::Error)]
pub enum NoHome {
    #[error("there is no home {id:?} in the file of homes; it has {known}")]
    Unknown { id: String, known: String },
    #[error("the file of homes is empty, and the task names no home")]
    Empty,
}

impl Homes {
    /// Reads a `*.homes.jsonl` file; every state is reported at `now`.
    ///
    /// # Errors
    /// The first line that is not a home.
    pub fn read(text: &str, now: DateTime<Utc>) -> Result<Self, serde_json::Error> {
        let mut homes = Self { houses: BTreeMap::new(), first: None, places: BTreeMap::new(), now };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let file: HomeFile = serde_json::from_str(line)?;
            let stateless = !file.entities.is_empty()
                && file.entities.iter().all(|entity| entity.state.is_null() && entity.attributes.is_empty());
            let file = if stateless { home_llm::furnished(&file) } else { file };
            for (device, area) in
                file.entities.iter().filter_map(|entity| Some((entity.device.clone()?, entity.area.clone()?)))
            {
                homes.places.entry((file.id.clone(), device)).or_insert(area);
            }
            homes.houses.insert(file.id.clone(), home::house(&file, now));
            homes.first.get_or_insert(file);
        }
        Ok(homes)
    }

    /// The house in which `task` is given. One without a home of its own is given in the house that it describes, or
    /// in the first of the file.
    ///
    /// # Errors
    /// There is none.
    pub fn of(&self, task: &Task) -> Result<House, NoHome> {
        let id = match (&task.home, &task.goal) {
            (Some(id), _) => id,
            (None, Goal::Calls(calls)) => {
                return Ok(home::house(&home_llm::described(calls, &task.input), self.now));
            }
            // What it asks for is not there.
            (None, Goal::Refusal) => {
                let mut file = self.first.clone().ok_or(NoHome::Empty)?;
                let input = task.input.to_lowercase();
                file.entities.retain(|entity| !input.contains(&entity.name.to_lowercase()));
                return Ok(home::house(&file, self.now));
            }
            (None, Goal::End(_) | Goal::Hard { .. } | Goal::Status(_) | Goal::Talk(_)) => {
                &self.first.as_ref().ok_or(NoHome::Empty)?.id
            }
        };
        self.houses.get(id).cloned().ok_or_else(|| NoHome::Unknown {
            id: id.clone(),
            known: self.houses.keys().take(5).map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    /// The area in which a command is given: as told, or that of the device that hears it.
    pub fn area(&self, task: &Task) -> Option<String> {
        let device = || {
            let key = (task.home.clone()?, task.context_device.clone()?);
            self.places.get(&key).cloned()
        };
        task.context_area.clone().or_else(device)
    }
}
