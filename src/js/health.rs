//! Whether a store is to be trusted: when it is opened, whether those that were open before were closed well; when it had a
//! fault, the cure.

use std::rc::Rc;

use gloo::events::EventListener;
use js_sys::Reflect;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::EventTarget;

use super::events::Healed;
use super::inner::Inner;
use crate::browser;
use crate::engine::Engine;
use crate::error::Result;
use crate::ids::{SessionId, WriterId};
use crate::plan::marks;
use crate::plan::write::Upkeep;
use crate::store::Storage;

const NOT_CLOSED: &str = "a page that had the store open ended without closing it";

impl Inner {
    /// Marks the store as open, and looks for those that ended without taking their mark away: the browser may have been
    /// killed in the middle of a write.
    pub(super) async fn arrive(self: &Rc<Self>) {
        if !self.engine.storage().is_shared() {
            return;
        }
        self.watch();
        let before = self.engine.before();
        if !before.is_empty() {
            let live = self.presence.live().await;
            self.dead.replace(before.iter().filter(|writer| !live.has(Some(writer))).cloned().collect());
        }
        if self.dead.borrow().is_empty() || !browser::rotates() {
            self.mark();
            return;
        }
        // Not marked before it is healed: the mark would be written behind the damage, and those of the dead still stand.
        self.engine.storage().distrust(NOT_CLOSED);
        self.keep(None);
    }

    /// Leaves the mark, and takes those of the dead away. Not waited for: its transaction is on its way before any that is
    /// asked for from now on.
    fn mark(self: &Rc<Self>) {
        let inner = self.clone();
        // A store that cannot be marked, because the disk is full, can still be read.
        spawn_local(async move { drop(inner.engine.arrive(&inner.dead.take()).await) });
    }

    /// Takes the mark away when the page ends; one that comes back from the browser's cache leaves it again.
    fn watch(self: &Rc<Self>) {
        let Ok(page) = js_sys::global().dyn_into::<EventTarget>() else { return };
        let (ending, returning) = (Rc::downgrade(self), Rc::downgrade(self));
        let ends = EventListener::new(&page, "pagehide", move |_| {
            if let Some(inner) = ending.upgrade() {
                inner.engine.storage().send_off(marks::ACCESS, &[marks::removal(inner.engine.writer())]);
            }
        });
        let returns = EventListener::new(&page, "pageshow", move |event| {
            let was_kept = Reflect::get(event, &"persisted".into()).is_ok_and(|kept| kept.is_truthy());
            if let Some(inner) = returning.upgrade().filter(|_| was_kept) {
                inner.mark();
            }
        });
        self.leaving.replace(vec![ends, returns]);
    }

    /// Leaves the other tabs, and the database as one that was closed well.
    pub(super) async fn leave(&self) {
        self.leaving.take();
        self.presence.leave();
        drop(self.engine.depart().await);
    }

    /// Does what is due, in the background: the cure of a store that is not trusted, and the upkeep of a session. What fails
    /// is left for the next time.
    pub(super) fn keep(self: &Rc<Self>, due: Option<(&SessionId, Upkeep)>) {
        let due =
            due.filter(|(_, upkeep)| *upkeep != Upkeep::default()).map(|(session, upkeep)| (session.clone(), upkeep));
        let suspicion = self.engine.storage().suspicion();
        if (suspicion.is_none() && due.is_none()) || self.keeping.replace(true) {
            return;
        }
        let inner = self.clone();
        spawn_local(async move {
            if let Some((reason, faults)) = suspicion {
                drop(inner.heal(reason, faults).await);
            }
            if let Some((session, upkeep)) = due {
                drop(inner.engine.upkeep(&session, upkeep).await);
            }
            inner.keeping.set(false);
        });
    }

    async fn heal(self: &Rc<Self>, reason: &'static str, faults: u32) -> Result<()> {
        let _alone = self.presence.alone("heal").await;
        let dead = self.dead.borrow().clone();
        if reason == NOT_CLOSED && !is_any_marked(&self.engine, &dead).await? {
            // Another tab has done it meanwhile.
            self.engine.storage().trust(faults);
            self.mark();
            return Ok(());
        }
        let start = browser::now();
        // A database that was lost under this page lacks its own row.
        self.engine.identify().await?;
        self.engine.storage().heal().await?;
        let milliseconds = u32::try_from(browser::now().saturating_sub(start)).unwrap_or(u32::MAX);
        self.mark();
        self.announcer.healed(Healed { reason, at: browser::now(), milliseconds });
        Ok(())
    }
}

async fn is_any_marked<S: Storage>(engine: &Engine<S>, writers: &[WriterId]) -> Result<bool> {
    let marks = engine.marks().await?;
    Ok(writers.iter().any(|writer| marks.contains(writer)))
}
