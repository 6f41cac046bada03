//! Content-addressed trees: sorted `key -> value hash` maps whose equal parts are stored once.
//!
//! Entries are cut into leaves at boundaries that depend on the keys alone, and leaves into branches in the same way, so
//! that equal maps have equal roots however they came about, and a change of one entry makes one new leaf and the path
//! above it. Two trees are compared by skipping what has the same hash.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::hash::{Hash, packed};
use super::sorted::{Map, Set};

/// Most entries of a node.
const MAX_ENTRIES: usize = 128;
/// Most bytes of keys and hashes in a node; a row must stay below 48 KB, and keys may take two bytes a character.
const MAX_BYTES: usize = 18 * 1024;
/// One key in this many is a boundary.
const SPREAD: u8 = 64;

/// A leaf (level 0: keys and value hashes) or a branch (first keys and hashes of the nodes below).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// 0 for a leaf.
    pub level: u8,
    /// Keys, ascending.
    pub keys: Vec<String>,
    /// One hash for each key.
    #[serde(with = "packed")]
    pub hashes: Vec<Hash>,
}

impl Node {
    /// The node's identity.
    #[must_use]
    pub fn hash(&self) -> Hash {
        let packed = Hash::pack(&self.hashes);
        let level = [self.level];
        let mut pieces: Vec<&[u8]> = vec![&level, &packed];
        pieces.extend(self.keys.iter().map(String::as_bytes));
        Hash::of("node", &pieces)
    }

    /// Its entries.
    pub fn entries(&self) -> impl Iterator<Item = (&String, Hash)> {
        self.keys.iter().zip(self.hashes.iter().copied())
    }

    /// Whether its shape is one this module makes: of bounded size, as many keys as hashes, keys strictly ascending.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let bytes: usize = self.keys.iter().map(String::len).sum();
        self.keys.len() == self.hashes.len()
            && (1..=MAX_ENTRIES).contains(&self.keys.len())
            && bytes <= 2 * MAX_BYTES
            && self.keys.is_sorted_by(|a, b| a < b)
    }
}

/// One entry: a key and the hash of what it leads to.
pub type Entry = (String, Hash);

/// A tree after an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// The root; `None` when nothing is left.
    pub root: Option<Hash>,
    /// Nodes that the update made, by hash.
    pub made: Vec<(Hash, Node)>,
}

fn is_boundary(level: u8, key: &str) -> bool {
    let Hash([first, ..]) = Hash::of("edge", &[&[level], key.as_bytes()]);
    first % SPREAD == 0
}

/// Collects entries and cuts them into nodes.
struct Cutter {
    level: u8,
    open: Vec<Entry>,
    bytes: usize,
}

impl Cutter {
    fn new(level: u8) -> Self {
        Cutter { level, open: Vec::new(), bytes: 0 }
    }

    /// Adds an entry; gives the node that it completes.
    fn add(&mut self, entry: Entry) -> Option<Node> {
        self.bytes += entry.0.len() + 32;
        let edge = is_boundary(self.level, &entry.0);
        self.open.push(entry);
        // A branch of one child would never make the level above it smaller.
        let enough = self.level == 0 || self.open.len() > 1;
        let full = self.open.len() >= MAX_ENTRIES || self.bytes >= MAX_BYTES;
        if enough && (edge || full) { self.close() } else { None }
    }

    fn close(&mut self) -> Option<Node> {
        self.bytes = 0;
        let (keys, hashes): (Vec<_>, Vec<_>) = self.open.drain(..).unzip();
        (!keys.is_empty()).then_some(Node { level: self.level, keys, hashes })
    }
}

/// Nodes below which an update starts, and what it must not write again.
#[derive(Default)]
struct Known {
    leaves: Vec<Entry>,
    branches: Set<Hash>,
}

/// Walks the branches level by level, so that the nodes of one level are loaded together.
fn survey<E>(load: &mut impl FnMut(&[Hash]) -> Result<Vec<Rc<Node>>, E>, root: Option<Hash>) -> Result<Known, E> {
    let mut known = Known::default();
    let mut front: Vec<Entry> = root.into_iter().map(|hash| (String::new(), hash)).collect();
    while !front.is_empty() {
        let hashes: Vec<Hash> = front.iter().map(|(_, hash)| *hash).collect();
        let nodes = load(&hashes)?;
        // Only a root that is a leaf: the leaves below a branch are known without loading them.
        if nodes.iter().all(|node| node.level == 0) {
            known.leaves = front;
            break;
        }
        known.branches.extend(hashes);
        let last = nodes.iter().all(|node| node.level <= 1);
        front = nodes.iter().flat_map(|node| node.entries().map(|(key, hash)| (key.clone(), hash))).collect();
        if last {
            known.leaves = front;
            break;
        }
    }
    Ok(known)
}

/// Applies edits (`None` removes a key) to a tree. Loads its branches and the leaves the edits fall in, nothing else, and
/// those of one level together: `load` gives as many nodes as it is given hashes.
///
/// # Errors
/// Whatever `load` fails with.
pub fn update<E>(
    mut load: impl FnMut(&[Hash]) -> Result<Vec<Rc<Node>>, E>,
    root: Option<Hash>,
    edits: &Map<String, Option<Hash>>,
) -> Result<Update, E> {
    if edits.is_empty() {
        return Ok(Update { root, made: Vec::new() });
    }
    let known = survey(&mut load, root)?;
    let mut made = Vec::new();
    let mut level_entries: Vec<Entry> = Vec::new();
    let mut cutter = Cutter::new(0);
    let mut old_leaves: Set<Hash> = Set::new();
    let touched = touched(&known.leaves, edits);
    let mut loaded: Map<Hash, Rc<Node>> = touched.iter().copied().zip(load(&touched)?).collect();
    let mut edits = edits.iter().peekable();
    let mut emit = |node: Node, below: &mut Vec<Entry>, old: &Set<Hash>| {
        let hash = node.hash();
        if let Some(first) = node.keys.first() {
            below.push((first.clone(), hash));
        }
        if !old.contains(&hash) {
            made.push((hash, node));
        }
    };
    let mut leaves = known.leaves.into_iter().peekable();
    if leaves.peek().is_none() {
        for (key, value) in edits.by_ref() {
            if let Some(node) = value.and_then(|hash| cutter.add((key.clone(), hash))) {
                emit(node, &mut level_entries, &old_leaves);
            }
        }
    }
    while let Some((first, hash)) = leaves.next() {
        let end = leaves.peek().map(|(key, _)| key.clone());
        let touched = edits.peek().is_some_and(|(key, _)| end.as_ref().is_none_or(|end| *key < end));
        if !touched && cutter.open.is_empty() {
            // The root leaf is known without its first key; `first` is only wrong when there is just one leaf.
            level_entries.push((first, hash));
            continue;
        }
        // Also where no edit falls in it: what has lost its boundary runs on into the next leaf.
        if !loaded.contains_key(&hash) {
            loaded.extend([hash].into_iter().zip(load(&[hash])?));
        }
        old_leaves.insert(hash);
        let old = loaded.get(&hash).into_iter().flat_map(|leaf| leaf.entries());
        let mut merged: Map<String, Hash> = old.map(|(key, hash)| (key.clone(), hash)).collect();
        while let Some((key, value)) = edits.next_if(|(key, _)| end.as_ref().is_none_or(|end| *key < end)) {
            match value {
                Some(hash) => merged.insert(key.clone(), *hash),
                None => merged.remove(key),
            };
        }
        for entry in merged {
            if let Some(node) = cutter.add(entry) {
                emit(node, &mut level_entries, &old_leaves);
            }
        }
    }
    if let Some(node) = cutter.close() {
        emit(node, &mut level_entries, &old_leaves);
    }
    let mut level = 0;
    while level_entries.len() > 1 {
        level += 1;
        let mut cutter = Cutter::new(level);
        let mut above = Vec::new();
        for entry in std::mem::take(&mut level_entries) {
            if let Some(node) = cutter.add(entry) {
                emit(node, &mut above, &known.branches);
            }
        }
        if let Some(node) = cutter.close() {
            emit(node, &mut above, &known.branches);
        }
        level_entries = above;
    }
    Ok(Update { root: level_entries.first().map(|(_, hash)| *hash), made })
}

/// The leaves that edits fall in.
fn touched(leaves: &[Entry], edits: &Map<String, Option<Hash>>) -> Vec<Hash> {
    let mut out = Vec::new();
    for (at, (first, hash)) in leaves.iter().enumerate() {
        // What sorts before the first leaf belongs to it.
        let edit = if at == 0 { edits.keys().next() } else { edits.from(first).next().map(|(key, _)| key) };
        if edit.is_some_and(|key| leaves.get(at + 1).is_none_or(|(end, _)| key < end)) {
            out.push(*hash);
        }
    }
    out
}

/// Every entry of a tree, ascending.
///
/// # Errors
/// Whatever `load` fails with.
pub fn entries<E>(
    mut load: impl FnMut(&[Hash]) -> Result<Vec<Rc<Node>>, E>,
    root: Option<Hash>,
) -> Result<Vec<Entry>, E> {
    let leaves: Vec<Hash> = survey(&mut load, root)?.leaves.into_iter().map(|(_, hash)| hash).collect();
    let leaves = load(&leaves)?;
    Ok(leaves.iter().flat_map(|leaf| leaf.entries().map(|(key, hash)| (key.clone(), hash))).collect())
}

/// One difference between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: String,
    /// Its value hash in the first tree.
    pub before: Option<Hash>,
    /// Its value hash in the second tree.
    pub after: Option<Hash>,
}

/// What differs between two trees, by key. Leaves that both share are not loaded.
///
/// # Errors
/// Whatever `load` fails with.
pub fn diff<E>(
    mut load: impl FnMut(&[Hash]) -> Result<Vec<Rc<Node>>, E>,
    a: Option<Hash>,
    b: Option<Hash>,
) -> Result<Vec<Change>, E> {
    if a == b {
        return Ok(Vec::new());
    }
    let (left, right) = (survey(&mut load, a)?, survey(&mut load, b)?);
    let leaf_set = |known: &Known| known.leaves.iter().map(|(_, hash)| *hash).collect::<Set<_>>();
    let (in_left, in_right) = (leaf_set(&left), leaf_set(&right));
    let mut collect = |known: &Known, other: &Set<Hash>| {
        let own: Vec<Hash> = known.leaves.iter().map(|(_, hash)| *hash).filter(|hash| !other.contains(hash)).collect();
        let leaves = load(&own)?;
        Ok(leaves.iter().flat_map(|leaf| leaf.entries()).map(|(key, hash)| (key.clone(), hash)).collect())
    };
    let before: Vec<Entry> = collect(&left, &in_right)?;
    let after: Vec<Entry> = collect(&right, &in_left)?;
    let mut both: Map<String, (Option<Hash>, Option<Hash>)> = Map::new();
    for (key, hash) in before {
        both.slot(key).0 = Some(hash);
    }
    for (key, hash) in after {
        both.slot(key).1 = Some(hash);
    }
    let changed = both.into_iter().filter(|(_, (before, after))| before != after);
    Ok(changed.map(|(key, (before, after))| Change { key, before, after }).collect())
}
