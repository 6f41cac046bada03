//! What a mirror outside of the database is given of a session: its newest headers, and of their content what it has not
//! got yet.

use serde::Deserialize;

use crate::error::Error;
use crate::ids::{ScopeId, SessionId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::Hash;
use crate::model::session::Session;
use crate::model::sorted::Set;
use crate::model::span::Coverage;
use crate::plan::bundle::{self, Bundle, Part};
use crate::plan::{head, objects};
use crate::store::{Plan, Planned, View, both};

/// What a mirror is given.
#[derive(Clone, Debug, PartialEq)]
pub struct Share<T> {
    /// The session, by itself. Without what the checkpoint that was asked for reaches, unless `whole`.
    pub bundle: Bundle<T>,
    /// Whether that checkpoint is not there any more, so that everything is in it.
    pub whole: bool,
}

/// What a mirror was given since it was last given everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Seen {
    /// Sequence number of the newest checkpoint.
    pub seq: u32,
    /// Its epoch.
    pub epoch: u64,
    /// Sequence number of the oldest one.
    pub oldest: u32,
}

/// Plans the share of a session: its newest `most` headers with their pending writes, and what they reach beyond what
/// the mirror has already. `None` when there is no such session, or nothing in it.
///
/// # Errors
/// `Need`; `RecordUnreadable`.
pub fn share<T: Text>(
    view: &View<T>,
    scope: &ScopeId,
    id: &SessionId,
    after: Option<Seen>,
    most: u32,
) -> Planned<Plan<T, Option<Share<T>>>> {
    let Some(session) = head::find(view, scope, id)?.filter(|session| session.head.is_some()) else {
        return Ok(Plan::read(None));
    };
    // Which one is active belongs to the scope.
    let session = Session { opened: 0, ..session.without_writer() };
    let base = after.map_or(Ok(None), |after| {
        // A session that was imported has the same checkpoints in other places, with other epochs.
        Ok(head::at::<T>(view, &session, after.seq)?.filter(|cp| cp.epoch == after.epoch))
    });
    let newest = head::window(view, &session, session.next, most);
    let (base, (mut checkpoints, mut writes)) = both(base, both(newest, bundle::pending_writes(view, scope, id)))?;
    checkpoints.reverse();
    if checkpoints.last().map(|cp| &cp.id) != session.head.as_ref().map(|head| &head.id) {
        return Err(Error::unreadable(format!("session {id}"), "its newest checkpoint is not there").into());
    }
    let oldest = checkpoints.first().map_or(0, |cp| cp.seq);
    writes.retain(|(seq, ..)| *seq >= oldest);

    let (mut reached, mut known) = (Coverage::default(), Coverage::default());
    let (mut roots, mut known_roots) = (Set::new(), Set::new());
    let is_new =
        |cp: &&Checkpoint<T>| base.is_none() || after.is_none_or(|seen| cp.seq > seen.seq || cp.seq < seen.oldest);
    let new: Vec<&Checkpoint<T>> = checkpoints.iter().filter(is_new).collect();
    for state in new.iter().map(|cp| &cp.state).chain([&session.state]) {
        reached.add(&state.spans);
        roots.extend(state.roots.iter());
    }
    for state in base.iter().map(|cp| &cp.state) {
        known.add(&state.spans);
        known_roots.extend(state.roots.iter());
    }
    let messages = bundle::placed(view, &reached.beyond(&known));
    let (entries, mut hashes) = both(messages, trees(view, &roots, known_roots))?;
    hashes.extend(entries.iter().flat_map(|(.., entry)| entry.objects()));
    hashes.extend(new.iter().filter_map(|cp| cp.prompt));
    hashes.extend(writes.iter().filter(|(.., write)| write.text.is_none()).map(|(.., write)| write.hash));
    let objects = bundle::wholes(view, &hashes)?;
    let part = Part { session, checkpoints, writes, entries, objects, left: 0 };
    Ok(Plan::read(Some(Share { bundle: part.bundle(), whole: base.is_none() })))
}

/// The nodes and the values of trees that are not in other trees, level by level: what is shared is not read.
fn trees<T: Text>(view: &View<T>, roots: &Set<Hash>, known: Set<Hash>) -> Planned<Set<Hash>> {
    let mut found = Set::new();
    // Trees that are known whole must not hide what they share with the others.
    let mut front: Set<Hash> = roots.iter().filter(|root| !known.contains(root)).copied().collect();
    let mut there = known;
    loop {
        let ours: Vec<Hash> = front.iter().filter(|hash| !there.contains(hash)).copied().collect();
        let theirs: Vec<Hash> = there.iter().filter(|hash| !front.contains(hash)).copied().collect();
        if ours.is_empty() {
            return Ok(found);
        }
        let (mine, others) = both(objects::nodes(view, &ours), objects::nodes(view, &theirs))?;
        found.extend(ours);
        let (mut known_values, mut below) = (Set::new(), Set::new());
        there = Set::new();
        for node in others {
            let into = if node.level == 0 { &mut known_values } else { &mut there };
            into.extend(node.entries().map(|(_, child)| child));
        }
        for node in mine {
            for (_, child) in node.entries() {
                if node.level > 0 {
                    // A damaged tree may lead to itself.
                    if !found.contains(&child) {
                        below.insert(child);
                    }
                } else if !known_values.contains(&child) {
                    found.insert(child);
                }
            }
        }
        front = below;
    }
}
