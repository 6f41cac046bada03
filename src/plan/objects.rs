//! Objects: tree nodes, long or shared values and binaries, stored once by content and cut into rows of bounded size.

use std::rc::Rc;

use serde_bytes::ByteBuf;

use crate::codec::key::{Key, Range, Store};
use crate::codec::row::{Content, MAX_REFS, MAX_TEXT, Object, Reference, Row};
use crate::error::Error;
use crate::model::body::{Binary, Body, Text, cut};
use crate::model::hash::Hash;
use crate::model::tree::Node;
use crate::store::{Op, Planned, Read, Request, View};

fn piece_count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Writes a value, in as many pieces as its text and its references need, and the binaries it refers to.
///
/// # Errors
/// `Need` until it is known which binaries are stored already.
pub fn put_value<T: Text>(view: &View<T>, body: &Body<T>, writes: &mut Vec<Op<T>>) -> Planned<()> {
    put_text(body.hash(), &body.text, &body.refs(), writes);
    put_binaries(view, body, writes)
}

/// Writes a value of a known hash, and which binaries it refers to.
pub fn put_text<T: Text>(hash: Hash, text: &T, refs: &[Hash], writes: &mut Vec<Op<T>>) {
    let plain = text.utf8();
    let texts = cut(&plain, MAX_TEXT);
    let lists: Vec<&[Hash]> = refs.chunks(MAX_REFS).collect();
    let of = piece_count(texts.len().max(lists.len()));
    for index in 0..of {
        let at = index as usize;
        let refs = lists.get(at).map_or_else(Vec::new, |list| list.to_vec());
        // The whole text needs no copy when it is one piece.
        let piece = if texts.len() == 1 && at == 0 {
            text.clone()
        } else {
            T::from_utf8(texts.get(at).copied().unwrap_or_default())
        };
        writes.push(Op::Put(Key::object(hash, index), Row::Object(Object { of, refs, content: Content::Text(piece) })));
    }
    for binary in refs {
        writes.push(Op::Put(Key::object_reference(hash, *binary), Row::Reference(Reference {})));
    }
}

/// Writes the binaries a body refers to, unless they are stored already: they may be large.
///
/// # Errors
/// `Need` until it is known which are.
pub fn put_binaries<T: Text>(view: &View<T>, body: &Body<T>, writes: &mut Vec<Op<T>>) -> Planned<()> {
    want_binaries(view, [body])?;
    for binary in &body.binaries {
        if view.keys(Range::object(binary.hash))?.is_empty() {
            put_binary(binary, writes);
        }
    }
    Ok(())
}

/// Asks together which binaries of many bodies are stored already.
///
/// # Errors
/// `Need` until it is known.
pub fn want_binaries<'a, T: Text>(view: &View<T>, bodies: impl IntoIterator<Item = &'a Body<T>>) -> Planned<()> {
    let binaries = bodies.into_iter().flat_map(|body| &body.binaries);
    view.want(binaries.map(|binary| Request::Keys(Range::object(binary.hash))))
}

/// Writes one binary.
pub fn put_binary<T: Text>(binary: &Binary, writes: &mut Vec<Op<T>>) {
    let mut pieces: Vec<&[u8]> = binary.bytes.chunks(MAX_TEXT).collect();
    if pieces.is_empty() {
        pieces.push(&[]);
    }
    let of = piece_count(pieces.len());
    for (index, piece) in pieces.into_iter().enumerate() {
        let content = Content::Bytes(ByteBuf::from(piece.to_vec()));
        writes.push(Op::Put(
            Key::object(binary.hash, piece_count(index)),
            Row::Object(Object { of, refs: Vec::new(), content }),
        ));
    }
}

/// Writes a tree node.
pub fn put_node<T: Text>(hash: Hash, node: Node, writes: &mut Vec<Op<T>>) {
    writes.push(Op::Put(
        Key::object(hash, 0),
        Row::Object(Object { of: 1, refs: Vec::new(), content: Content::Node(node) }),
    ));
}

fn piece<T: Text>(view: &View<T>, hash: Hash, index: u32) -> Planned<Rc<Row<T>>> {
    let key = Key::object(hash, index);
    match view.row(key.clone())? {
        Some(row) if matches!(&*row, Row::Object(_)) => Ok(row),
        Some(_) => Err(Error::unreadable(key, "it is not an object").into()),
        None => Err(Error::unreadable(key, "it is missing").into()),
    }
}

/// Reads a tree node.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable` when it is missing or not a sound node.
pub fn node<T: Text>(view: &View<T>, hash: Hash) -> Planned<Rc<Node>> {
    let row = piece(view, hash, 0)?;
    match &*row {
        Row::Object(Object { content: Content::Node(node), .. }) if node.is_sound() => Ok(Rc::new(node.clone())),
        _ => Err(Error::unreadable(Key::object(hash, 0), "it is not a tree node").into()),
    }
}

/// Most pieces an object can have; more is damage.
const MAX_PIECES: u32 = 1 << 16;

fn pieces_of<T: Text>(row: &Row<T>) -> u32 {
    match row {
        Row::Object(Object { of, .. }) if *of <= MAX_PIECES => *of,
        _ => 0,
    }
}

/// Reads many tree nodes together.
///
/// # Errors
/// As [`node`].
pub fn nodes<T: Text>(view: &View<T>, hashes: &[Hash]) -> Planned<Vec<Rc<Node>>> {
    want(view, hashes.iter().copied())?;
    hashes.iter().map(|hash| node(view, *hash)).collect()
}

/// Every piece of an object, in order.
fn pieces<T: Text>(view: &View<T>, hash: Hash) -> Planned<Vec<Rc<Row<T>>>> {
    let first = piece(view, hash, 0)?;
    let of = pieces_of(&first);
    if of == 0 {
        return Err(Error::unreadable(Key::object(hash, 0), "it has no possible number of pieces").into());
    }
    view.want((1..of).map(|index| Request::Row(Key::object(hash, index))))?;
    let mut rows = vec![first.clone()];
    for index in 1..of {
        rows.push(piece(view, hash, index)?);
    }
    Ok(rows)
}

/// Every piece of an object, in order.
///
/// # Errors
/// `Need` until they are read; `RecordUnreadable` when one is missing.
pub fn whole<T: Text>(view: &View<T>, hash: Hash) -> Planned<Vec<Object<T>>> {
    let rows = pieces(view, hash)?;
    Ok(rows
        .iter()
        .filter_map(|row| match &**row {
            Row::Object(object) => Some(object.clone()),
            _ => None,
        })
        .collect())
}

/// A stored value: its text, and the hashes of the binaries it refers to.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<T> {
    /// The text.
    pub text: T,
    /// The binaries, in the order the text numbers them.
    pub refs: Vec<Hash>,
}

/// Reads a value.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable` when a piece is missing or is something else.
pub fn value<T: Text>(view: &View<T>, hash: Hash) -> Planned<Value<T>> {
    let rows = pieces(view, hash)?;
    let mut refs = Vec::new();
    let mut texts = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        match &**row {
            Row::Object(Object { content: Content::Text(text), refs: own, .. }) => {
                refs.extend_from_slice(own);
                texts.push(text);
            }
            _ => return Err(Error::unreadable(Key::object(hash, piece_count(index)), "it is not a value").into()),
        }
    }
    let text = match texts.as_slice() {
        [only] => (*only).clone(),
        many => T::from_utf8(&many.iter().map(|text| text.utf8()).collect::<String>()),
    };
    Ok(Value { text, refs })
}

/// Reads a binary.
///
/// # Errors
/// `Need` until it is read; `RecordUnreadable` when a piece is missing or is something else.
pub fn bytes<T: Text>(view: &View<T>, hash: Hash) -> Planned<Vec<u8>> {
    let mut out = Vec::new();
    for (index, row) in pieces(view, hash)?.iter().enumerate() {
        match &**row {
            Row::Object(Object { content: Content::Bytes(bytes), .. }) => out.extend_from_slice(bytes),
            _ => return Err(Error::unreadable(Key::object(hash, piece_count(index)), "it is not binary").into()),
        }
    }
    Ok(out)
}

/// Asks for the first row of many objects at once.
///
/// # Errors
/// `Need` until they are read.
pub fn want<T: Text>(view: &View<T>, hashes: impl IntoIterator<Item = Hash>) -> Planned<()> {
    view.want(hashes.into_iter().map(|hash| Request::Row(Key::object(hash, 0))))
}

/// Asks for every row of many objects, in two rounds however many they are.
///
/// # Errors
/// `Need` until they are read.
pub fn want_whole<T: Text>(view: &View<T>, hashes: impl IntoIterator<Item = Hash>) -> Planned<()> {
    want_all(view, &hashes.into_iter().collect::<Vec<_>>())
}

// One compiled copy for every kind of list.
fn want_all<T: Text>(view: &View<T>, hashes: &[Hash]) -> Planned<()> {
    want(view, hashes.iter().copied())?;
    let mut more = Vec::new();
    for hash in hashes {
        if let Some(Read::Row(row)) = view.raw(Key::object(*hash, 0))? {
            more.extend((1..pieces_of(&row)).map(|index| Request::Row(Key::object(*hash, index))));
        }
    }
    view.want(more)
}

/// Whether a key belongs to an object, and to which.
#[must_use]
pub fn hash_of(key: &Key) -> Option<Hash> {
    (key.store == Store::Objects).then(|| key.text(0).and_then(Hash::from_hex)).flatten()
}
