//! What the contract's tests share: a clock and randomness that repeat, tabs over one storage, messages and what is read
//! back of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use turnmark::engine::{Engine, Event, Platform};
use turnmark::error::Result;
use turnmark::ids::{CheckpointId, ScopeId, SessionId};
use turnmark::model::body::{Binary, Body, Text};
use turnmark::model::checkpoint::Source;
use turnmark::model::hash::Hash;
use turnmark::model::retention::Retention;
use turnmark::plan::change::Change;
use turnmark::plan::log::Incoming;
use turnmark::plan::write::Metadata;
use turnmark::store::{Access, Guess, Level, Op, Pause, Step, Storage, View};

pub(crate) use super::tab::{Tab, code, failure};
use crate::backend::{self, Backend};

/// The kind of text the backend holds.
pub(crate) type T = <Backend as Storage>::Text;

/// A text as the backend holds it.
pub(crate) fn text(plain: &str) -> T {
    Text::from_utf8(plain)
}

/// A clock that stands still until it is moved, and randomness that repeats from one run of a test to the next.
#[derive(Clone)]
pub(crate) struct Clock {
    now: Rc<Cell<u64>>,
    drawn: Rc<Cell<u64>>,
}

thread_local! {
    static KITS: Cell<u64> = const { Cell::new(0) };
}

impl Clock {
    pub(crate) fn set(&self, now: u64) {
        self.now.set(now);
    }
}

impl Platform for Clock {
    fn now(&self) -> u64 {
        self.now.get()
    }

    fn random(&self) -> Result<[u8; 32]> {
        self.drawn.set(self.drawn.get() + 1);
        Ok(Hash::of("random", &[&self.drawn.get().to_le_bytes()]).0)
    }
}

/// What a storage was asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Commands that planned.
    pub(crate) commands: usize,
    /// Of those, the ones that wrote.
    pub(crate) writing: usize,
    /// Times a planner stopped for more.
    pub(crate) rounds: usize,
    /// Requests it stopped with.
    pub(crate) requests: usize,
    /// Rows written.
    pub(crate) puts: usize,
    /// Rows or ranges deleted.
    pub(crate) deletes: usize,
    /// Bytes of the rows written.
    pub(crate) bytes: usize,
}

/// A storage that counts.
pub(crate) struct Tally<S> {
    pub(crate) inner: S,
    counts: Rc<Cell<Counts>>,
}

impl Storage for Tally<Backend> {
    type Text = T;

    async fn transact(&self, access: Access, guess: &[Guess<T>], step: &mut Step<'_, T>) -> Result<()> {
        let note = |change: &dyn Fn(&mut Counts)| {
            let mut counts = self.counts.get();
            change(&mut counts);
            self.counts.set(counts);
        };
        let mut counted = |view: &View<T>| {
            let planned = step(view);
            match &planned {
                Ok(writes) => note(&|counts| {
                    counts.commands += 1;
                    counts.writing += usize::from(!writes.is_empty());
                    for op in writes {
                        match op {
                            Op::Put(_, row) => {
                                counts.puts += 1;
                                counts.bytes += super::rows::weigh(row);
                            }
                            _ => counts.deletes += 1,
                        }
                    }
                }),
                Err(Pause::Need(requests)) => note(&|counts| {
                    counts.rounds += 1;
                    counts.requests += requests.len();
                }),
                Err(Pause::Fail(_)) => {}
            }
            planned
        };
        self.inner.transact(access, guess, &mut counted).await
    }

    fn level(&self) -> Level {
        self.inner.level()
    }
}

/// One fresh database.
pub(crate) struct Kit {
    pub(crate) backend: Backend,
    pub(crate) clock: Clock,
}

/// A plausible instant.
pub(crate) const NOON: u64 = 1_800_000_000_000;

impl Kit {
    pub(crate) async fn fresh() -> Kit {
        Kit::over(backend::fresh().await)
    }

    pub(crate) fn over(backend: Backend) -> Kit {
        // Two databases of one test draw from different places.
        let kit = KITS.replace(KITS.get() + 1);
        let clock = Clock { now: Rc::new(Cell::new(NOON)), drawn: Rc::new(Cell::new(kit << 32)) };
        Kit { backend, clock }
    }

    /// A tab: an engine of its own, which has seen nothing yet.
    pub(crate) async fn tab(&self) -> Tab {
        self.tab_of("scope", Retention::default()).await
    }

    /// A tab with another retention.
    pub(crate) async fn tab_keeping(&self, max: u32, share: u32) -> Tab {
        self.tab_of("scope", Retention { max, share, sessions_only: false }).await
    }

    /// A tab of another scope.
    pub(crate) async fn tab_of(&self, scope: &str, retention: Retention) -> Tab {
        let counts = Rc::new(Cell::new(Counts::default()));
        let storage = Tally { inner: backend::again(&self.backend).await, counts: counts.clone() };
        let events: Rc<RefCell<Vec<Event<T>>>> = Rc::default();
        let heard = events.clone();
        let listener = Box::new(move |event| heard.borrow_mut().push(event));
        let scope = ScopeId::parse(scope).unwrap();
        let engine = Engine::open(storage, scope, retention, Box::new(self.clock.clone()), listener).await.unwrap();
        Tab::new(engine, events, counts)
    }
}

/// A session id.
pub(crate) fn sid(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

/// A checkpoint id.
pub(crate) fn cid(id: &str) -> CheckpointId {
    CheckpointId::parse(id).unwrap()
}

/// A message of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Msg {
    pub(crate) id: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) text: String,
    pub(crate) binaries: Vec<Vec<u8>>,
}

/// A user's message whose id is its text.
pub(crate) fn user(text: &str) -> Msg {
    Msg { id: Some(text.to_owned()), role: Some("user".to_owned()), text: text.to_owned(), binaries: Vec::new() }
}

/// An assistant's message.
pub(crate) fn assistant(text: &str) -> Msg {
    Msg { role: Some("assistant".to_owned()), ..user(text) }
}

/// Messages of alternating roles, `prefix` and a number each.
pub(crate) fn chat(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<Msg> {
    let message = |n: usize| {
        let text = format!("{prefix}{n}");
        if n.is_multiple_of(2) { user(&text) } else { assistant(&text) }
    };
    numbers.map(message).collect()
}

impl Msg {
    /// The same message with another content.
    pub(crate) fn saying(mut self, text: &str) -> Msg {
        text.clone_into(&mut self.text);
        self
    }

    /// The same message with a binary more.
    pub(crate) fn with(mut self, bytes: Vec<u8>) -> Msg {
        self.binaries.push(bytes);
        self
    }

    /// The encoded message: what a text of it holds.
    pub(crate) fn encoded(&self) -> String {
        serde_json::json!({ "id": self.id, "role": self.role, "content": self.text }).to_string()
    }

    pub(crate) fn incoming(&self) -> Incoming<T> {
        let text = |word: &Option<String>| word.as_deref().map(text);
        Incoming { id: text(&self.id), role: text(&self.role), body: body(&self.encoded(), &self.binaries) }
    }
}

/// A body.
pub(crate) fn body(value: &str, binaries: &[Vec<u8>]) -> Body<T> {
    Body::new(text(value), binaries.iter().cloned().map(Binary::new).collect())
}

/// Named values.
pub(crate) fn named(channels: &[(&str, &str)]) -> Vec<(String, Body<T>)> {
    channels.iter().map(|(name, value)| ((*name).to_owned(), body(value, &[]))).collect()
}

/// A whole state.
pub(crate) fn whole(messages: &[Msg], channels: &[(&str, &str)]) -> Change<T> {
    Change::Whole { listed: true, messages: messages.iter().map(Msg::incoming).collect(), channels: named(channels) }
}

/// A state without a message list.
pub(crate) fn unlisted(channels: &[(&str, &str)]) -> Change<T> {
    Change::Whole { listed: false, messages: Vec::new(), channels: named(channels) }
}

/// New messages.
pub(crate) fn more(messages: &[Msg]) -> Change<T> {
    Change::Append {
        keep: None,
        messages: messages.iter().map(Msg::incoming).collect(),
        set: Vec::new(),
        remove: Vec::new(),
        ui: None,
    }
}

/// Metadata that says nothing but that a message was written.
pub(crate) fn meta() -> Metadata<T> {
    Metadata::of(Source::Message)
}

/// A value and the binaries it refers to.
pub(crate) type Seen = (String, Vec<Vec<u8>>);

/// Everything a state holds, to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shot {
    pub(crate) listed: bool,
    pub(crate) messages: Vec<Seen>,
    pub(crate) channels: BTreeMap<String, Seen>,
}

/// What a state of these messages and channels looks like when it is read.
pub(crate) fn shot(messages: &[Msg], channels: &[(&str, &str)]) -> Shot {
    Shot {
        listed: true,
        messages: messages.iter().map(|message| (message.encoded(), message.binaries.clone())).collect(),
        channels: channels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), ((*value).to_owned(), Vec::new())))
            .collect(),
    }
}
