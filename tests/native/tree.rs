//! Content-addressed trees, against maps.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::rc::Rc;

use proptest::prelude::*;
use turnmark::model::hash::Hash;
use turnmark::model::tree::{self, Change, Node};

use crate::random::cases;

/// Every node that was ever made.
#[derive(Default)]
struct Shelf {
    nodes: HashMap<Hash, Rc<Node>>,
    loaded: Cell<usize>,
    rounds: Cell<usize>,
}

type Edits = BTreeMap<String, Option<Hash>>;

impl Shelf {
    fn load(&self, hashes: &[Hash]) -> Result<Vec<Rc<Node>>, Infallible> {
        self.loaded.set(self.loaded.get() + hashes.len());
        self.rounds.set(self.rounds.get() + usize::from(!hashes.is_empty()));
        Ok(hashes.iter().map(|hash| self.nodes[hash].clone()).collect())
    }

    fn update(&mut self, root: Option<Hash>, edits: &Edits) -> (Option<Hash>, usize) {
        let edits = edits.clone().into_iter().collect();
        let Ok(update) = tree::update(|hashes| self.load(hashes), root, &edits);
        let made = update.made.len();
        for (hash, node) in update.made {
            assert_eq!(node.hash(), hash);
            assert!(node.is_sound(), "{node:?}");
            self.nodes.insert(hash, Rc::new(node));
        }
        (update.root, made)
    }

    fn build(&mut self, map: &BTreeMap<String, Hash>) -> Option<Hash> {
        let edits = map.iter().map(|(key, hash)| (key.clone(), Some(*hash))).collect();
        self.update(None, &edits).0
    }

    fn entries(&self, root: Option<Hash>) -> BTreeMap<String, Hash> {
        let Ok(list) = tree::entries(|hashes| self.load(hashes), root);
        let map: BTreeMap<String, Hash> = list.iter().cloned().collect();
        assert!(list.is_sorted() && map.len() == list.len());
        map
    }

    fn diff(&self, a: Option<Hash>, b: Option<Hash>) -> Vec<Change> {
        let Ok(changes) = tree::diff(|hashes| self.load(hashes), a, b);
        changes
    }
}

fn value(n: u32) -> Hash {
    Hash::of("test", &[&n.to_le_bytes()])
}

fn apply(map: &mut BTreeMap<String, Hash>, edits: &Edits) {
    for (key, value) in edits {
        match value {
            Some(hash) => map.insert(key.clone(), *hash),
            None => map.remove(key),
        };
    }
}

fn naive(a: &BTreeMap<String, Hash>, b: &BTreeMap<String, Hash>) -> Vec<Change> {
    let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
    keys.sort();
    keys.dedup();
    let change = |key: &String| Change { key: key.clone(), before: a.get(key).copied(), after: b.get(key).copied() };
    keys.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// Keys of a few hundred, some of them hostile: nested prefixes, the empty one, other alphabets.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..400_u32).prop_map(|n| format!("k{n:03}")),
        1 => (0..40_usize).prop_map(|n| "a".repeat(n)),
        1 => (0..20_u32).prop_map(|n| format!("\u{10FFFF}{n}\u{0}")),
        1 => Just("__proto__".to_owned()),
    ]
}

fn edits() -> impl Strategy<Value = Edits> {
    prop::collection::btree_map(keys(), prop::option::weighted(0.7, (0..50_u32).prop_map(value)), 0..120)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn an_updated_tree_is_the_tree_built_from_scratch_whatever_its_history(steps in prop::collection::vec(edits(), 1..6)) {
        let (mut shelf, mut map, mut root) = (Shelf::default(), BTreeMap::new(), None);
        for edits in &steps {
            let before = map.clone();
            let old = root;
            apply(&mut map, edits);
            root = shelf.update(root, edits).0;
            prop_assert_eq!(&shelf.entries(root), &map);
            prop_assert_eq!(root, Shelf::default().build(&map));
            prop_assert_eq!(shelf.diff(old, root), naive(&before, &map));
            prop_assert_eq!(shelf.diff(root, old), naive(&map, &before));
        }
    }

    #[test]
    fn edits_made_one_by_one_or_at_once_give_the_same_root(start in edits(), edits in edits()) {
        let mut shelf = Shelf::default();
        let (base, _) = shelf.update(None, &start);
        let (at_once, _) = shelf.update(base, &edits);
        let mut one_by_one = base;
        for (key, value) in &edits {
            one_by_one = shelf.update(one_by_one, &[(key.clone(), *value)].into()).0;
        }
        prop_assert_eq!(one_by_one, at_once);
    }

    #[test]
    fn an_edit_that_changes_nothing_makes_nothing(start in edits()) {
        let mut shelf = Shelf::default();
        let (root, _) = shelf.update(None, &start);
        let same: Edits = shelf.entries(root).into_iter().map(|(key, hash)| (key, Some(hash))).collect();
        prop_assert_eq!(shelf.update(root, &same), (root, 0));
        let absent: Edits = [("no such key".to_owned(), None)].into();
        prop_assert_eq!(shelf.update(root, &absent), (root, 0));
    }
}

fn big(n: u32) -> BTreeMap<String, Hash> {
    (0..n).map(|at| (format!("entity/{at:06}"), value(at))).collect()
}

#[test]
fn one_edit_among_many_loads_and_makes_few_nodes() {
    let mut shelf = Shelf::default();
    let root = shelf.build(&big(20_000));
    for at in [0_u32, 1, 7777, 10_000, 19_999] {
        shelf.loaded.take();
        shelf.rounds.take();
        let (new, made) = shelf.update(root, &[(format!("entity/{at:06}"), Some(value(1)))].into());
        assert!(made <= 4, "made {made} nodes");
        // All branches (one in some sixty entries each) and a leaf or two.
        assert!(shelf.loaded.get() < 20_000 / 64 / 16, "loaded {} nodes", shelf.loaded.get());
        assert!(shelf.rounds.get() <= 6, "in {} rounds", shelf.rounds.get());
        shelf.loaded.take();
        assert_eq!(shelf.diff(root, new).len(), usize::from(at != 1));
        assert!(shelf.loaded.get() < 64, "compared by loading {} nodes", shelf.loaded.get());
    }
}

#[test]
fn all_leaves_are_loaded_in_one_round() {
    let mut shelf = Shelf::default();
    let map = big(20_000);
    let root = shelf.build(&map);
    shelf.rounds.take();
    assert_eq!(shelf.entries(root), map);
    assert!(shelf.rounds.get() <= 5, "in {} rounds", shelf.rounds.get());
}

/// Keys chosen by an enemy so that none is a boundary, or all are, still make nodes of bounded size.
#[test]
fn hostile_keys_make_sound_nodes_and_canonical_trees() {
    let is_edge = |key: &str| {
        let Hash([first, ..]) = Hash::of("edge", &[&[0], key.as_bytes()]);
        first % 64 == 0
    };
    let all = || (0..60_000_u32).map(|n| format!("{n:05}"));
    let none: Vec<String> = all().filter(|key| !is_edge(key)).take(3000).collect();
    let only: Vec<String> = all().filter(|key| is_edge(key)).take(700).collect();
    let long: Vec<String> = (0..300_u32).map(|n| format!("{n:04}{}", "x".repeat(1020))).collect();
    for keys in [none, only, long] {
        let map: BTreeMap<String, Hash> = keys.iter().map(|key| (key.clone(), value(0))).collect();
        let mut shelf = Shelf::default();
        let root = shelf.build(&map);
        assert_eq!(shelf.entries(root), map);
        // Taken away and put back, one in the middle leaves the same tree.
        let middle = &keys[keys.len() / 2];
        let (without, _) = shelf.update(root, &[(middle.clone(), None)].into());
        let mut fewer = map.clone();
        fewer.remove(middle);
        assert_eq!(without, Shelf::default().build(&fewer));
        assert_eq!(shelf.update(without, &[(middle.clone(), Some(value(0)))].into()).0, root);
    }
}

#[test]
fn a_tree_without_entries_has_no_root() {
    let mut shelf = Shelf::default();
    assert_eq!(shelf.update(None, &Edits::new()), (None, 0));
    let root = shelf.build(&big(300));
    let all: Edits = big(300).into_keys().map(|key| (key, None)).collect();
    assert_eq!(shelf.update(root, &all).0, None);
    assert_eq!(shelf.entries(None), BTreeMap::new());
}

#[test]
fn a_node_of_another_shape_is_not_sound() {
    let node = |keys: &[&str], hashes: usize| Node {
        level: 0,
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        hashes: vec![value(0); hashes],
    };
    assert!(node(&["a", "b"], 2).is_sound());
    for (keys, hashes) in [(vec![], 0), (vec!["a"], 2), (vec!["a", "b"], 1), (vec!["b", "a"], 2), (vec!["a", "a"], 2)] {
        assert!(!node(&keys, hashes).is_sound(), "{keys:?}");
    }
    let many: Vec<String> = (0..129).map(|n| format!("{n:03}")).collect();
    assert!(!node(&many.iter().map(String::as_str).collect::<Vec<_>>(), 129).is_sound());
    assert!(!node(&["x".repeat(40_000).as_str()], 1).is_sound());
    // Everything in a node is part of its identity.
    let base = node(&["a", "b"], 2).hash();
    assert_ne!(base, node(&["a", "c"], 2).hash());
    assert_ne!(base, Node { level: 1, ..node(&["a", "b"], 2) }.hash());
    assert_ne!(base, Node { hashes: vec![value(0), value(1)], ..node(&["a", "b"], 2) }.hash());
    assert_ne!(node(&["ab", "c"], 2).hash(), node(&["a", "bc"], 2).hash());
}
