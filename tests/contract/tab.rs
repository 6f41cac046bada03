//! A tab: one owner's view of the database, which says what it has seen, as a store of the package does.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use turnmark::engine::{Engine, Event, Saved};
use turnmark::error::{Code, Error, Result};
use turnmark::ids::{CheckpointId, RunId, TaskId};
use turnmark::model::body::Text;
use turnmark::model::checkpoint::Checkpoint;
use turnmark::model::hash::Hash;
use turnmark::model::part::Part;
use turnmark::plan::change::Change;
use turnmark::plan::objects::Value;
use turnmark::plan::read::{Before, Contents, Filter, List, Page};
use turnmark::plan::restore::{Restored, Target};
use turnmark::plan::write::Metadata;

use super::kit::{Counts, Msg, Seen, Shot, T, Tally, meta, more, named, sid, whole};
use crate::backend::Backend;

fn seen(value: &Value<T>, contents: &Contents<T>) -> Seen {
    let bytes = |hash: &Hash| contents.binaries.get(hash).map(|bytes| bytes.to_vec()).expect("every binary is read");
    (value.text.utf8().into_owned(), value.refs.iter().map(bytes).collect())
}

/// One owner's view of the database: an engine, and what it has seen of each session.
pub(crate) struct Tab {
    pub(crate) engine: Engine<Tally<Backend>>,
    pub(crate) seen: RefCell<BTreeMap<String, u64>>,
    events: Rc<RefCell<Vec<Event<T>>>>,
    counts: Rc<Cell<Counts>>,
}

impl Tab {
    pub(crate) fn new(
        engine: Engine<Tally<Backend>>,
        events: Rc<RefCell<Vec<Event<T>>>>,
        counts: Rc<Cell<Counts>>,
    ) -> Tab {
        Tab { engine, seen: RefCell::default(), events, counts }
    }

    /// What the storage was asked for since this was last called.
    pub(crate) fn counted(&self) -> Counts {
        self.counts.take()
    }

    /// What the listener has heard since this was last called.
    pub(crate) fn heard(&self) -> Vec<Event<T>> {
        self.events.take()
    }

    pub(crate) fn saw(&self, session: &str, epoch: u64) {
        self.seen.borrow_mut().insert(session.to_owned(), epoch);
    }

    pub(crate) fn expects(&self, session: &str) -> Option<u64> {
        self.seen.borrow().get(session).copied()
    }

    /// Writes, as a store of the package does: it says which epoch it has seen.
    pub(crate) async fn write(&self, session: &str, change: Change<T>, metadata: Metadata<T>) -> Result<Saved<T>> {
        let saved = self.engine.write(sid(session), change, metadata, self.expects(session)).await?;
        self.saw(session, saved.checkpoint.epoch);
        Ok(saved)
    }

    /// Writes as one who has seen this epoch.
    pub(crate) async fn write_seeing(&self, session: &str, change: Change<T>, epoch: Option<u64>) -> Result<Saved<T>> {
        let saved = self.engine.write(sid(session), change, meta(), epoch).await?;
        self.saw(session, saved.checkpoint.epoch);
        Ok(saved)
    }

    pub(crate) async fn put(
        &self,
        session: &str,
        messages: &[Msg],
        channels: &[(&str, &str)],
    ) -> Result<Checkpoint<T>> {
        Ok(self.write(session, whole(messages, channels), meta()).await?.checkpoint)
    }

    pub(crate) async fn append(&self, session: &str, messages: &[Msg]) -> Result<Checkpoint<T>> {
        Ok(self.write(session, more(messages), meta()).await?.checkpoint)
    }

    /// Reads the live state; from then on this tab has seen it.
    pub(crate) async fn load(&self, session: &str) -> Option<Shot> {
        let loaded = self.engine.load(&sid(session), None).await.unwrap()?;
        self.saw(session, loaded.epoch.unwrap());
        Some(Tab::shot(loaded.checkpoint.state.listed, &loaded.contents))
    }

    /// Reads the live state of a session that has one.
    pub(crate) async fn live(&self, session: &str) -> Shot {
        self.load(session).await.expect("the session exists")
    }

    pub(crate) fn shot(listed: bool, contents: &Contents<T>) -> Shot {
        Shot {
            listed,
            messages: contents.messages.iter().map(|value| seen(value, contents)).collect(),
            channels: contents.channels.iter().map(|(name, value)| (name.clone(), seen(value, contents))).collect(),
        }
    }

    /// Reads a checkpoint.
    pub(crate) async fn at(&self, session: &str, id: &CheckpointId) -> Shot {
        let loaded = self.engine.load(&sid(session), Some(id)).await.unwrap().expect("the checkpoint exists");
        Tab::shot(loaded.checkpoint.state.listed, &loaded.contents)
    }

    pub(crate) async fn restore(&self, session: &str, target: Target) -> Result<Restored<T>> {
        self.restore_by(session, target, None).await
    }

    /// Restores, as the owner of a run where there is one.
    pub(crate) async fn restore_by(&self, session: &str, target: Target, run: Option<RunId>) -> Result<Restored<T>> {
        let restored = self.engine.restore(sid(session), target, run, None, self.expects(session)).await?;
        self.saw(session, restored.checkpoint.epoch);
        Ok(restored)
    }

    pub(crate) async fn rollback(&self, session: &str, id: &CheckpointId) -> Result<Restored<T>> {
        self.restore(session, Target::Rollback { id: id.clone(), parts: Part::ALL.to_vec() }).await
    }

    pub(crate) async fn undo(&self, session: &str) -> Result<Restored<T>> {
        self.restore(session, Target::Undo).await
    }

    pub(crate) async fn redo(&self, session: &str) -> Result<Restored<T>> {
        self.restore(session, Target::Redo).await
    }

    pub(crate) async fn fork(&self, source: &str, id: &CheckpointId, target: &str) -> Result<Checkpoint<T>> {
        let forked = self.engine.fork(sid(source), id.clone(), sid(target)).await?;
        self.saw(target, forked.epoch);
        Ok(forked)
    }

    /// Deletes a checkpoint, and has seen what that made of the session.
    pub(crate) async fn delete(&self, session: &str, id: &CheckpointId) -> Result<()> {
        let epoch = self.engine.delete_checkpoint(&sid(session), id).await?;
        // Only who knew the state before knows the one that is left.
        if let Some(epoch) = epoch.filter(|epoch| self.expects(session) == Some(*epoch - 1)) {
            self.saw(session, epoch);
        }
        Ok(())
    }

    pub(crate) async fn put_writes(&self, session: &str, task: &str, values: &[(&str, &str)]) -> Result<()> {
        self.engine.put_writes(&sid(session), &TaskId::parse(task).unwrap(), &named(values)).await
    }

    /// The pending writes of a checkpoint, or of the newest one: task, place, channel, value.
    pub(crate) async fn pending(&self, session: &str, id: Option<&CheckpointId>) -> Vec<(String, i64, String, String)> {
        let loaded = self.engine.load(&sid(session), id).await.unwrap().expect("there is a checkpoint");
        let plain = |write: turnmark::plan::pending::Pending<T>| {
            (write.task, write.index, write.channel, write.value.text.utf8().into_owned())
        };
        loaded.pending.into_iter().map(plain).collect()
    }

    /// One page of a listing.
    pub(crate) async fn page(
        &self,
        session: &str,
        limit: u32,
        before: Option<Before>,
        filter: Filter<T>,
    ) -> Result<Page<T>> {
        self.engine
            .list(&List { scope: self.engine.scope().clone(), session: sid(session), limit, before, filter })
            .await
    }

    /// Every checkpoint of a session, newest first.
    pub(crate) async fn all(&self, session: &str) -> Vec<Checkpoint<T>> {
        self.page(session, u32::MAX, None, Filter::default()).await.unwrap().items
    }

    /// The ids of every checkpoint of a session, newest first.
    pub(crate) async fn ids(&self, session: &str) -> Vec<String> {
        self.all(session).await.into_iter().map(|checkpoint| checkpoint.id.to_string()).collect()
    }

    /// Verifies that nothing at all is wrong, not even something unreachable left behind.
    pub(crate) async fn clean(&self) {
        self.engine.collect().await.unwrap();
        let report = self.engine.verify().await.unwrap();
        assert_eq!(report.faults, []);
    }

    /// Verifies that nothing is wrong.
    pub(crate) async fn sound(&self) {
        let report = self.engine.verify().await.unwrap();
        assert!(report.is_ok(), "{:#?}", report.faults);
    }
}

/// The code a command failed with.
pub(crate) fn code<A: std::fmt::Debug>(result: Result<A>) -> Code {
    failure(result).code
}

/// The error a command failed with.
pub(crate) fn failure<A: std::fmt::Debug>(result: Result<A>) -> Error {
    result.expect_err("the command must fail")
}
