//! One engine for all templates. What is compiled is shared by source and forgotten with its last user.
//!
//! Thousands of announcements carry the same few sources, and an engine of its own for each would cost more memory than
//! everything else that is known of an entity.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use minijinja::{Environment, Error, Value};

use super::{CompileError, MAX_SOURCE, describe, rewrite};

/// Longest source after its operators were rewritten. Each becomes a few bytes longer, so nothing that anybody writes
/// comes near it; what does has found a way to grow that is not known here.
const MAX_REWRITTEN: usize = 4 * MAX_SOURCE;

pub(super) struct Engine {
    /// Templates by number as text. Written while one is compiled or forgotten, read while one runs.
    environment: RwLock<Environment<'static>>,
    library: Mutex<Library>,
}

#[derive(Default)]
struct Library {
    by_source: HashMap<Arc<str>, Weak<Compiled>>,
    next: u64,
}

/// A compiled source.
pub(super) struct Compiled {
    source: Arc<str>,
    name: String,
    engine: Arc<Engine>,
    reads_this: bool,
}

impl Engine {
    pub fn new(environment: Environment<'static>) -> Self {
        Self { environment: RwLock::new(environment), library: Mutex::default() }
    }

    /// The compiled form of `source`, which was checked.
    pub fn compile(self: &Arc<Self>, source: &str) -> Result<Arc<Compiled>, CompileError> {
        let mut library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = library.by_source.get(source).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let text = rewrite::operators(source).unwrap_or_else(|| source.to_owned());
        if text.len() > MAX_REWRITTEN {
            return Err(CompileError::TooDeep("operators"));
        }
        library.next += 1;
        let name = library.next.to_string();
        self.environment
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .add_template_owned(name.clone(), text)
            .map_err(|error| CompileError::Syntax(describe(&error)))?;
        let compiled = Arc::new(Compiled {
            source: source.into(),
            name,
            engine: self.clone(),
            reads_this: source.contains("this"),
        });
        library.by_source.insert(compiled.source.clone(), Arc::downgrade(&compiled));
        Ok(compiled)
    }

    /// How many sources are held.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        let library = self.library.lock().unwrap_or_else(PoisonError::into_inner);
        let environment = self.environment.read().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(library.by_source.len(), environment.templates().count(), "both tables agree");
        library.by_source.len()
    }
}

impl Compiled {
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// Whether `this` occurs: only then is the state copied into the engine.
    pub fn reads_this(&self) -> bool {
        self.reads_this
    }

    pub fn render(&self, context: Value) -> Result<String, Error> {
        let environment = self.engine.environment.read().unwrap_or_else(PoisonError::into_inner);
        environment.get_template(&self.name)?.render(context)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let mut library = self.engine.library.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have compiled the same source anew while this one was on its way out.
        if library.by_source.get(&self.source).is_some_and(|known| known.strong_count() == 0) {
            library.by_source.remove(&self.source);
        }
        let mut environment = self.engine.environment.write().unwrap_or_else(PoisonError::into_inner);
        environment.remove_template(&self.name);
    }
}
