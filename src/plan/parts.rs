//! Keyed parts: named values in content-addressed trees.

use std::rc::Rc;

use crate::error::{Code, Error};
use crate::model::body::{Body, Text};
use crate::model::hash::Hash;
use crate::model::sorted::{Map, Set};
use crate::model::tree::{self, Node};
use crate::plan::objects;
use crate::store::{Op, Planned, View};

/// Longest name of a channel, in bytes of UTF-8.
pub const MAX_NAME: usize = 1024;

/// A named value on its way in.
pub type Named<T> = (String, Body<T>);

/// Refuses names that are too long. Any other name is a key of a tree, never of an object, and so cannot hurt.
///
/// # Errors
/// `TooLarge`.
pub fn check_name(name: &str) -> Result<(), Error> {
    if name.len() > MAX_NAME {
        return Err(Error::new(Code::TooLarge, format!("a channel name may have at most {MAX_NAME} bytes")));
    }
    Ok(())
}

/// Applies changes to a tree: writes the values and nodes that are new, and gives the new root.
///
/// Nodes and values already reachable from `root` are not written again. They cannot be collected meanwhile, because the
/// caller holds `root` as (part of) a live state in the same transaction.
///
/// # Errors
/// `Need` until the nodes concerned are read; `RecordUnreadable` when one cannot be.
pub fn apply<T: Text>(
    view: &View<T>,
    root: Option<Hash>,
    set: &[Named<T>],
    remove: &[String],
    writes: &mut Vec<Op<T>>,
) -> Planned<Option<Hash>> {
    let mut edits: Map<String, Option<Hash>> = remove.iter().map(|name| (name.clone(), None)).collect();
    edits.extend(set.iter().map(|(name, body)| (name.clone(), Some(body.hash()))));
    let update = tree::update(|hashes| objects::nodes(view, hashes), root, &edits)?;
    if update.root == root {
        return Ok(root);
    }
    let made: Map<Hash, Rc<Node>> = update.made.iter().map(|(hash, node)| (*hash, Rc::new(node.clone()))).collect();
    let load = |hashes: &[Hash]| {
        objects::want(view, hashes.iter().copied().filter(|hash| !made.contains_key(hash)))?;
        hashes
            .iter()
            .map(|hash| made.get(hash).map_or_else(|| objects::node(view, *hash), |node| Ok(node.clone())))
            .collect()
    };
    let changed: Set<String> = tree::diff(load, root, update.root)?.into_iter().map(|change| change.key).collect();
    let changed = || set.iter().filter(|(name, _)| changed.contains(name)).map(|(_, body)| body);
    objects::want_binaries(view, changed())?;
    for body in changed() {
        objects::put_value(view, body, writes)?;
    }
    for (hash, node) in update.made {
        objects::put_node(hash, node, writes);
    }
    Ok(update.root)
}

/// Makes a tree hold exactly these values.
///
/// # Errors
/// As [`apply`].
pub fn replace<T: Text>(
    view: &View<T>,
    root: Option<Hash>,
    all: &[Named<T>],
    writes: &mut Vec<Op<T>>,
) -> Planned<Option<Hash>> {
    let present = tree::entries(|hashes| objects::nodes(view, hashes), root)?;
    let wanted: Set<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let remove: Vec<String> =
        present.into_iter().map(|(name, _)| name).filter(|name| !wanted.contains(name.as_str())).collect();
    apply(view, root, all, &remove, writes)
}
