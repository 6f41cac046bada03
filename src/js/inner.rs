//! An open store: the engine, and what surrounds it in a page.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use gloo::events::EventListener;
use js_sys::Function;
use wasm_bindgen::{JsCast, JsValue};

use super::error;
use super::events::Announcer;
use super::input::{self, Input};
use super::output;
use super::presence::Presence;
use super::reports;
use super::storage::AnyStorage;
use crate::browser::{self, JsText};
use crate::engine::{Done, Engine, Platform, Saved};
use crate::error::{Code, Result};
use crate::ids::{RunId, ScopeId, SessionId, WriterId};
use crate::model::retention::Retention;
use crate::plan::change::Change;
use crate::plan::restore::Target;
use crate::plan::status::Unfinished;
use crate::plan::turn::Begin;
use crate::plan::write::Metadata;

/// How long a run without a lock is waited for before it counts as dead.
const GRACE_MS: u32 = 50;

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
    pub(super) presence: Presence,
    /// Open stores of before that were not closed well.
    pub(super) dead: RefCell<Vec<WriterId>>,
    /// Whether housekeeping is under way.
    pub(super) keeping: Cell<bool>,
    /// Tell of the end of the page.
    pub(super) leaving: RefCell<Vec<EventListener>>,
}

impl Inner {
    /// Opens a store.
    pub(super) async fn open(options: &Input<'_>) -> Result<Rc<Self>> {
        let (name, scope) = (options.text("name")?, ScopeId::parse(&options.text("scope")?)?);
        let retention = Retention {
            max: options.count("maxCheckpoints")?,
            share: options.count("pruneShare").unwrap_or(0),
            sessions_only: options.get("retention").as_string().as_deref() == Some("apploop"),
        };
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
                    has_room: options.get("hasRoom").dyn_into().ok(),
                })
                .await?
            }
        };
        announcer.opened(&storage);
        let tells = announcer.clone();
        let tell = Box::new(move |event| tells.announce(event));
        let engine = Engine::open(storage, scope.clone(), retention, Box::new(BrowserPlatform), tell).await?;
        let presence = Presence::new(&name, engine.writer(), engine.storage().is_shared());
        let (dead, leaving) = Default::default();
        let inner = Rc::new(Inner { engine, announcer, presence, dead, keeping: Cell::new(false), leaving });
        inner.arrive().await;
        Ok(inner)
    }

    /// Answers a write at once; its housekeeping is done afterwards, in transactions of its own.
    fn saved(self: &Rc<Self>, saved: &Saved<JsText>) -> Result<JsValue> {
        let checkpoint = &saved.checkpoint;
        self.keep(Some((&checkpoint.session, saved.upkeep)));
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
        self.saved(&self.engine.write(session, change, metadata, expect).await?)
    }

    /// Begins a turn, and answers.
    pub(super) async fn begin(
        self: Rc<Self>,
        session: SessionId,
        mut begin: Begin<JsText>,
        change: Change<JsText>,
        metadata: Metadata<JsText>,
        expect: Option<u64>,
    ) -> std::result::Result<JsValue, JsValue> {
        let run = begin.run.clone();
        let act = |begin: Begin<JsText>, expect| {
            self.engine.begin(session.clone(), begin, change.clone(), metadata.clone(), expect)
        };
        let mut done = self.when_idle(&session, expect, |expect| act(begin.clone(), expect)).await;
        if matches!(&done, Err(error) if error.code == Code::ActiveRun) && !self.answers(&session).await {
            // Another tab is at work here: this turn goes beside it.
            begin.aside = true;
            done = act(begin, expect).await;
        }
        let begun = done.map_err(|error| error::to_js(&error))?;
        let answer = self
            .saved(&begun.saved)
            .and_then(|written| output::begun(&begun.saved.checkpoint, &run, written))
            .map_err(|error| error::to_js(&error))?;
        match begun.conflict {
            Some(conflict) => Err(error::begun(&conflict, answer)),
            None => Ok(answer),
        }
    }

    /// Whether it is this page that answers a turn in a session.
    async fn answers(&self, session: &SessionId) -> bool {
        let session = self.engine.session(session).await.ok().flatten();
        session.and_then(|session| session.run).is_some_and(|run| self.presence.is_me(run.writer.as_ref()))
    }

    /// Goes on with a turn or ends it, and answers.
    pub(super) async fn step(
        self: Rc<Self>,
        session: SessionId,
        run: RunId,
        ends: bool,
        change: Change<JsText>,
        metadata: Metadata<JsText>,
        expect: Option<u64>,
    ) -> Result<JsValue> {
        self.saved(&self.engine.step(session, run, ends, change, metadata, expect).await?)
    }

    /// Does something that must not happen while a turn is answered. A turn whose page died is recovered first: what had
    /// arrived stays, and everybody is told.
    pub(super) async fn when_idle<A, F: Future<Output = Result<A>>>(
        &self,
        session: &SessionId,
        expect: Option<u64>,
        act: impl Fn(Option<u64>) -> F,
    ) -> Result<A> {
        match act(expect).await {
            Err(busy) if busy.code == Code::ActiveRun => match self.bury(session).await? {
                Some((from, epoch)) => act(expect.map(|seen| if seen == from { epoch } else { seen })).await,
                None => Err(busy),
            },
            done => done,
        }
    }

    /// Recovers a session's turn if its page died; `None` when it is alive. The epochs before and after.
    async fn bury(&self, session: &SessionId) -> Result<Option<(u64, u64)>> {
        let Some(found) = self.engine.session(session).await? else { return Ok(Some((0, 0))) };
        let Some(run) = &found.run else { return Ok(Some((found.epoch, found.epoch))) };
        let is_alive = async || self.presence.live().await.has(run.writer.as_ref());
        if is_alive().await {
            return Ok(None);
        }
        // A page that was opened this instant may not be seen yet.
        browser::sleep(GRACE_MS).await;
        if is_alive().await {
            return Ok(None);
        }
        let done = self.engine.recover(session.clone(), false).await?;
        Ok(Some(done.map_or((found.epoch, found.epoch), |done| (done.from, done.epoch))))
    }

    /// Restores, and answers.
    pub(super) async fn restore(
        self: Rc<Self>,
        session: SessionId,
        target: Target,
        run: Option<RunId>,
        commit: Option<String>,
        expect: Option<u64>,
    ) -> Result<JsValue> {
        let act = |expect| self.engine.restore(session.clone(), target.clone(), run.clone(), commit.clone(), expect);
        let restored = self.when_idle(&session, expect, act).await?;
        output::restored(&restored, self.announcer.view(&restored.checkpoint)?)
    }

    /// Starts a conversation, and answers.
    pub(super) async fn new_session(self: Rc<Self>, asked: NewSession) -> Result<JsValue> {
        let left = match &asked.from {
            Some(from) => Some(from.clone()),
            None => self.engine.active_session().await?,
        };
        let act = |_| {
            let NewSession { id, title, from, commit, run } = asked.clone();
            self.engine.new_session(id, title, from, commit, run)
        };
        let opened = match &left {
            Some(left) => self.when_idle(left, None, act).await?,
            None => act(None).await?,
        };
        Ok(reports::opened(&asked.id, &opened))
    }

    /// Finalizes or drops what was interrupted: of a session, or of all.
    pub(super) async fn recover(&self, drop: bool, only: Option<SessionId>) -> Result<Vec<(SessionId, Done)>> {
        let unfinished = self.engine.status().await?.unfinished;
        // Asked afterwards: a store that was opened in between is not dead.
        let live = self.presence.live().await;
        let mut done = Vec::new();
        for Unfinished { session, writer, .. } in unfinished {
            if live.has(writer.as_ref()) || only.as_ref().is_some_and(|only| *only != session) {
                continue;
            }
            if let Some(recovered) = self.engine.recover(session.clone(), drop).await? {
                done.push((session, recovered));
            }
        }
        Ok(done)
    }
}

/// What a new conversation is asked for with.
#[derive(Clone)]
pub(super) struct NewSession {
    pub(super) id: SessionId,
    pub(super) title: Option<String>,
    pub(super) from: Option<SessionId>,
    pub(super) commit: Option<String>,
    pub(super) run: Option<RunId>,
}
