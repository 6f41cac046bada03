//! Message bodies and channel values: opaque texts with a hash, and the binary contents they refer to.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Debug;
use std::rc::Rc;

use serde::{Serialize, de::DeserializeOwned};

use super::hash::Hash;

/// An opaque text as its platform holds it: a `String` natively, a JavaScript string in the browser.
///
/// The engine never looks inside one. It compares, hashes, splits and joins texts, so that a thousand messages pass
/// through a transaction without being copied into this module's memory.
pub trait Text: Clone + PartialEq + Debug + Serialize + DeserializeOwned + 'static {
    /// The text as UTF-8. Texts are well formed by construction (lone surrogates are escaped by the encoder).
    fn utf8(&self) -> Cow<'_, str>;
    /// A text of this kind.
    fn from_utf8(text: &str) -> Self;

    /// Whether UTF-8 can say all of it. A text from outside may hold half a character.
    fn is_well_formed(&self) -> bool {
        Self::from_utf8(&self.utf8()) == *self
    }
}

impl Text for String {
    fn utf8(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }

    fn from_utf8(text: &str) -> Self {
        text.to_owned()
    }
}

/// Bytes that a row gives a text: engines store texts of Latin-1 characters in one byte each, all others in two.
#[must_use]
pub fn weight(text: &str) -> usize {
    if text.chars().all(|c| c <= '\u{ff}') { text.chars().count() } else { text.encode_utf16().count() * 2 }
}

/// A binary content, stored once by its hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// Hash of the bytes.
    pub hash: Hash,
    /// The bytes.
    pub bytes: Rc<Vec<u8>>,
}

impl Binary {
    /// Hashes the bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Binary { hash: Hash::of("bytes", &[&bytes]), bytes: Rc::new(bytes) }
    }
}

/// A value on its way in: its text, and the binaries which the text refers to by position.
#[derive(Clone, Debug)]
pub struct Body<T> {
    /// The encoded value.
    pub text: T,
    /// The binaries, in the order the text numbers them.
    pub binaries: Vec<Binary>,
    identity: OnceCell<(Hash, u32)>,
}

impl<T: Text> Body<T> {
    /// A body of a text and its binaries.
    pub fn new(text: T, binaries: Vec<Binary>) -> Self {
        Body { text, binaries, identity: OnceCell::new() }
    }

    fn identity(&self) -> (Hash, u32) {
        *self.identity.get_or_init(|| {
            let text = self.text.utf8();
            let refs = Hash::pack(&self.refs());
            (content_hash(&text, &refs), u32::try_from(weight(&text)).unwrap_or(u32::MAX))
        })
    }

    /// Hash of the text and of every binary: equal bodies have equal hashes. Computed when first asked for, so that a
    /// message found unchanged by comparison is never hashed.
    pub fn hash(&self) -> Hash {
        self.identity().0
    }

    /// Bytes the text takes in a row.
    pub fn size(&self) -> u32 {
        self.identity().1
    }

    /// Hashes of the binaries, in order.
    pub fn refs(&self) -> Vec<Hash> {
        self.binaries.iter().map(|binary| binary.hash).collect()
    }
}

/// The hash of a body given its text and its packed references.
#[must_use]
pub fn content_hash(text: &str, packed_refs: &[u8]) -> Hash {
    Hash::of("text", &[text.as_bytes(), packed_refs])
}

/// Cuts a text into pieces of at most `limit` bytes of UTF-16 or Latin-1, never inside a character.
#[must_use]
pub fn cut(text: &str, limit: usize) -> Vec<&str> {
    let units = limit / 2;
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut length = 0;
        let end = rest
            .char_indices()
            .find(|(_, c)| {
                length += c.len_utf16();
                length > units
            })
            .map_or(rest.len(), |(at, _)| at);
        // A limit below one character would never advance.
        let end = if end == 0 { rest.chars().next().map_or(rest.len(), char::len_utf8) } else { end };
        let (piece, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        pieces.push(piece);
        rest = tail;
    }
    if pieces.is_empty() {
        pieces.push("");
    }
    pieces
}
