//! Rows: all of them, changed behind the engine's back, and how much of a database page each takes.

use std::rc::Rc;

use turnmark::codec::key::{Key, Range, Store};
use turnmark::codec::row::{Content, Row};
use turnmark::ids::SessionId;
use turnmark::model::body::{Text, weight};
use turnmark::model::checkpoint::Checkpoint;
use turnmark::store::{Access, Op, Plan, Read, Storage};

use super::kit::{Kit, T};

/// Rows stay below this: browsers keep larger values outside their database files.
pub(crate) const MAX_ROW: usize = 48 * 1024;

/// Bytes a row takes, about: as engines write a value, each string in one byte or two a character.
pub(crate) fn weigh<A: Text>(row: &Row<A>) -> usize {
    let text = |text: &A| weight(&text.utf8()) + 4;
    let maybe = |value: &Option<A>| value.as_ref().map_or(2, text);
    let json = |value: serde_json::Result<String>| value.map_or(usize::MAX, |text| text.len());
    match row {
        Row::Meta(row) => json(serde_json::to_string(row)),
        Row::Session(row) => json(serde_json::to_string(row)),
        Row::Reference(_) => 2,
        Row::Checkpoint(row) => {
            let extra: usize = row.extra.iter().map(|(key, value)| weight(key) + 8 + text(value)).sum();
            json(serde_json::to_string(&bare(row))) + extra + maybe(&row.opens)
        }
        Row::Messages(row) => {
            let lists = row.ids.iter().chain(&row.roles).chain(&row.texts).map(maybe).sum::<usize>();
            let refs: usize = row.refs.iter().map(|(_, refs)| 8 + refs.len() * 66).sum();
            100 + row.hashes.len() * 32 + row.sizes.len() * 5 + lists + refs
        }
        Row::Object(row) => {
            let content = match &row.content {
                Content::Text(value) => text(value),
                Content::Bytes(bytes) => bytes.len() + 8,
                Content::Node(node) => node.keys.iter().map(|key| weight(key) + 4 + 32).sum(),
            };
            60 + row.refs.len() * 32 + content
        }
        Row::Write(row) => 100 + weight(&row.channel) + maybe(&row.text),
        Row::Stream(row) => 100 + maybe(&row.id) + maybe(&row.role) + text(&row.text),
    }
}

/// A header without the caller's texts, which only their own platform can serialize.
fn bare<A: Text>(cp: &Checkpoint<A>) -> Checkpoint<String> {
    let Checkpoint { scope, session, seq, id, parent, kind, source, writes, forked_from, name, at, epoch, .. } =
        cp.clone();
    let Checkpoint {
        vector,
        state,
        operation,
        usage,
        turn,
        commit,
        prompt,
        lookup,
        pinned,
        provisional,
        sealed,
        forks,
        pending,
        ..
    } = cp.clone();
    let extra = Vec::new();
    Checkpoint {
        scope,
        session,
        seq,
        id,
        parent,
        kind,
        source,
        writes,
        forked_from,
        extra,
        name,
        at,
        epoch,
        vector,
        state,
        operation,
        usage,
        turn,
        commit,
        prompt,
        lookup,
        opens: None,
        pinned,
        provisional,
        sealed,
        forks,
        pending,
    }
}

/// Every row, in key order.
pub(crate) type Rows = Vec<(Key, Rc<Row<T>>)>;

impl Kit {
    /// Every row of the database.
    pub(crate) async fn dump(&self) -> Rows {
        let step = |view: &turnmark::store::View<T>| {
            let mut rows = Vec::new();
            for store in Store::ALL {
                let range = Range::all(*store);
                for (key, read) in view.keys(range.clone())?.iter().zip(view.rows(range, None)?.iter()) {
                    if let Read::Row(row) = read {
                        rows.push((key.clone(), row.clone()));
                    }
                }
            }
            Ok(Plan::read(rows))
        };
        self.backend.run(Access::read(Store::ALL), step).await.unwrap()
    }

    /// Every row of one store.
    pub(crate) async fn rows(&self, store: Store) -> Rows {
        self.dump().await.into_iter().filter(|(key, _)| key.store == store).collect()
    }

    /// Every row that belongs to a session: its head, headers and pending writes.
    pub(crate) async fn rows_of(&self, session: &SessionId) -> Rows {
        let owned =
            |key: &Key| matches!(key.store, Store::Sessions | Store::Checkpoints | Store::Writes | Store::Streams);
        self.dump().await.into_iter().filter(|(key, _)| owned(key) && key.text(1) == Some(session.as_str())).collect()
    }

    /// Writes a row behind the engine's back, or removes one.
    pub(crate) async fn tamper(&self, key: &Key, row: Option<Row<T>>) {
        let op = || match &row {
            Some(row) => Op::Put(key.clone(), row.clone()),
            None => Op::Delete(key.clone()),
        };
        self.backend.run(Access::write(Store::ALL), |_| Ok(Plan { writes: vec![op()], answer: () })).await.unwrap();
    }

    /// Damages a row in one of many ways, so that it cannot be read.
    pub(crate) async fn garble(&self, key: &Key, way: u32) {
        crate::backend::spoil(&self.backend, key, way).await;
    }

    /// Makes the database hold these rows, and nothing else.
    pub(crate) async fn reset(&self, rows: &Rows) {
        let writes = || {
            let clear = Store::ALL.iter().map(|store| Op::DeleteRange(Range::all(*store)));
            clear.chain(rows.iter().map(|(key, row)| Op::Put(key.clone(), (**row).clone()))).collect()
        };
        self.backend.run(Access::write(Store::ALL), |_| Ok(Plan { writes: writes(), answer: () })).await.unwrap();
    }

    /// Whether the backend can hold a row of another kind under a key: a browser's storage writes no row that its own
    /// store could not read.
    pub(crate) fn can_hold(&self, key: &Key, row: &Row<T>) -> bool {
        cfg!(not(target_arch = "wasm32")) || matches!((key.store, row), (Store::Meta, Row::Meta(_)))
    }

    /// Changes a row behind the engine's back.
    pub(crate) async fn spoil(&self, key: &Key, change: impl FnOnce(&mut Row<T>)) {
        let found = self.dump().await.into_iter().find(|(found, _)| found == key);
        let mut row = (*found.expect("the row is there").1).clone();
        change(&mut row);
        self.tamper(key, Some(row)).await;
    }

    /// Checks that no row is larger than a browser keeps inside its database file.
    pub(crate) async fn rows_are_small(&self) {
        for (key, row) in self.dump().await {
            let bytes = weigh(&row);
            assert!(bytes < MAX_ROW, "{key} takes {bytes} bytes");
        }
    }
}
