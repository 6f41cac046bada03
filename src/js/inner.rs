//! An open store: the engine, and what surrounds it in a page.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::Function;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;

use super::events::Announcer;
use super::input::{self, Input};
use super::locks::Runs;
use super::output;
use super::storage::AnyStorage;
use crate::browser::{self, JsText};
use crate::engine::{Engine, Platform, Saved};
use crate::error::Result;
use crate::ids::{ScopeId, SessionId};
use crate::model::retention::Retention;
use crate::plan::restore::Target;
use crate::plan::write::{Change, Metadata};

struct BrowserPlatform;

impl Platform for BrowserPlatform {
    fn now(&self) -> u64 {
        browser::now()
    }

    fn random(&self) -> Result<[u8; 32]> {
        browser::random()
    }
}

/// An engine with all that belongs to it in a page.
pub(super) struct Inner {
    pub(super) engine: Engine<AnyStorage>,
    pub(super) announcer: Rc<Announcer>,
    pub(super) runs: Runs,
    /// Whether housekeeping is under way.
    keeping: Cell<bool>,
}

impl Inner {
    /// Opens a store.
    pub(super) async fn open(options: &Input<'_>) -> Result<Self> {
        let (name, scope) = (options.text("name")?, ScopeId::parse(&options.text("scope")?)?);
        let retention =
            Retention { max: options.count("maxCheckpoints")?, share: options.count("pruneShare").unwrap_or(0) };
        let listener =
            options.get("listener").dyn_into::<Function>().map_err(|_| input::invalid("listener", "a function"))?;
        let announcer = Rc::new(Announcer::new(&name, &scope, listener));
        let storage = match options.text("backend")?.as_str() {
            "memory" => AnyStorage::memory(),
            _ => {
                let durability = match options.text("durability")?.as_str() {
                    "relaxed" => browser::Durability::Relaxed,
                    _ => browser::Durability::Strict,
                };
                let hears = Rc::downgrade(&announcer);
                let on_event: browser::Listener = Rc::new(move |event| {
                    if let Some(announcer) = hears.upgrade() {
                        announcer.connection(&event);
                    }
                });
                let timeout_ms = options.count("timeout")?;
                AnyStorage::indexed_db(browser::OpenOptions {
                    name: name.clone(),
                    durability,
                    timeout_ms,
                    on_event: Some(on_event),
                })
                .await?
            }
        };
        announcer.opened(&storage);
        let tells = announcer.clone();
        let tell = Box::new(move |event| tells.announce(event));
        let engine = Engine::open(storage, scope.clone(), retention, Box::new(BrowserPlatform), tell).await?;
        let runs = Runs::new(&name, &scope, engine.storage().is_shared());
        Ok(Inner { engine, announcer, runs, keeping: Cell::new(false) })
    }

    /// Answers a write at once; its housekeeping is done afterwards, in transactions of its own.
    fn saved(self: &Rc<Self>, saved: &Saved<JsText>) -> Result<JsValue> {
        let checkpoint = &saved.checkpoint;
        self.runs.note(&checkpoint.session, checkpoint.provisional);
        let suspect = self.engine.storage().is_suspect();
        if (suspect || saved.upkeep != Default::default()) && !self.keeping.replace(true) {
            let (inner, session, due) = (self.clone(), checkpoint.session.clone(), saved.upkeep);
            // What fails here is left for the next time.
            spawn_local(async move {
                // A database that was lost under this page lacks its own row.
                if suspect {
                    drop(inner.engine.identify().await);
                    drop(inner.engine.storage().heal().await);
                }
                drop(inner.engine.upkeep(&session, due).await);
                inner.keeping.set(false);
            });
        }
        output::written(checkpoint, self.announcer.view(checkpoint)?)
    }

    /// Writes, and answers.
    pub(super) async fn write(
        self: Rc<Self>,
        session: SessionId,
        change: Change<JsText>,
        metadata: Metadata<JsText>,
        expect: Option<u64>,
    ) -> Result<JsValue> {
        let saved = self.engine.write(session, change, metadata, expect).await?;
        self.saved(&saved)
    }

    /// Restores, and answers.
    pub(super) async fn restore(
        self: Rc<Self>,
        session: SessionId,
        target: Target,
        expect: Option<u64>,
    ) -> Result<JsValue> {
        let restored = self.engine.restore(session, target, expect).await?;
        self.runs.note(&restored.checkpoint.session, false);
        output::restored(&restored, self.announcer.view(&restored.checkpoint)?)
    }
}
