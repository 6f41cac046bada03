//! Rows: what each store holds. These types are the schema.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::ids::{DeviceId, RunId};
use crate::model::body::Text;
use crate::model::checkpoint::Checkpoint;
use crate::model::hash::{Hash, packed};
use crate::model::session::Session;
use crate::model::tree::Node;

/// Most bytes of text in one row: rows stay below 48 KB, where browsers keep values inside their database files.
pub const MAX_TEXT: usize = 40 * 1024;
/// A message above this goes to the objects store in pieces, so that one long message cannot fill a row alone.
pub const MAX_INLINE: usize = 20 * 1024;
/// Most references in one row of an object.
pub const MAX_REFS: usize = 200;
/// Most messages in one row.
pub const MAX_RUN: u32 = 256;
/// How many small rows a log grows before they are merged.
pub const MERGE_ROWS: u32 = 16;

/// The row about the whole database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// This browser profile.
    pub device: DeviceId,
    /// Epoch milliseconds.
    pub created: u64,
}

/// A run of consecutive messages of a log. The lists are parallel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Text")]
pub struct Messages<T> {
    /// Place of the first one.
    pub from: u32,
    /// Content hashes.
    #[serde(with = "packed")]
    pub hashes: Vec<Hash>,
    /// Bytes of each text.
    #[serde(with = "packed_sizes")]
    pub sizes: Vec<u32>,
    /// The messages' own ids.
    pub ids: Vec<Option<T>>,
    /// The messages' roles.
    pub roles: Vec<Option<T>>,
    /// The texts; `None` for one that is kept as an object because it is long.
    pub texts: Vec<Option<T>>,
    /// Binaries that messages refer to: index in this run, and their hashes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<(u32, Vec<Hash>)>,
}

/// Sizes as one run of bytes, little-endian, which is read far faster than a list of numbers.
mod packed_sizes {
    use serde::{Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(sizes: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        serde_bytes::serialize(&bytes, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        let bytes: Vec<u8> = serde_bytes::deserialize(deserializer)?;
        let chunks = bytes.chunks_exact(4);
        if !chunks.remainder().is_empty() {
            return Err(de::Error::custom("not a whole number of sizes"));
        }
        Ok(chunks.filter_map(|chunk| chunk.try_into().ok().map(u32::from_le_bytes)).collect())
    }
}

impl<T> Messages<T> {
    /// A run that holds nothing yet.
    #[must_use]
    pub fn empty(from: u32) -> Self {
        Messages {
            from,
            hashes: Vec::new(),
            sizes: Vec::new(),
            ids: Vec::new(),
            roles: Vec::new(),
            texts: Vec::new(),
            refs: Vec::new(),
        }
    }

    /// Number of messages.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.hashes.len()).unwrap_or(u32::MAX)
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether the parallel lists are parallel.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let n = self.hashes.len();
        n > 0
            && [self.sizes.len(), self.ids.len(), self.roles.len(), self.texts.len()].iter().all(|len| *len == n)
            && self.refs.iter().all(|(at, _)| (*at as usize) < n)
    }

    /// Binaries of the message at an index.
    #[must_use]
    pub fn refs_at(&self, index: u32) -> &[Hash] {
        self.refs.iter().find(|(at, _)| *at == index).map_or(&[], |(_, refs)| refs)
    }
}

/// A piece of an object. Each says how many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Text")]
pub struct Object<T> {
    /// How many pieces the object has.
    pub of: u32,
    /// Binaries that the object refers to, or the next of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "packed")]
    pub refs: Vec<Hash>,
    /// The content, or this piece of it.
    pub content: Content<T>,
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Text")]
pub enum Content<T> {
    /// An encoded value, or a piece of a long one.
    #[serde(rename = "text")]
    Text(T),
    /// Binary content, or a piece of it.
    #[serde(rename = "bytes")]
    Bytes(ByteBuf),
    /// A node of a tree.
    #[serde(rename = "node")]
    Node(Node),
}

/// A pending write: a value for a channel that belongs to a checkpoint but not yet to a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Text")]
pub struct Write<T> {
    /// The channel.
    pub channel: String,
    /// Hash of the value.
    pub hash: Hash,
    /// The value; `None` when it is kept as an object because it is long or has binaries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<T>,
}

/// What was added to a message that is still being written. Each says what stays of the text before it, so that a
/// save costs what is new.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Text")]
pub struct Stream<T> {
    /// The run that writes it.
    pub run: RunId,
    /// The message's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<T>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<T>,
    /// How many pieces the addition is cut into.
    pub of: u32,
    /// UTF-16 units of the text before it that stay at the beginning.
    pub head: u32,
    /// UTF-16 units of the text before it that stay at the end.
    pub tail: u32,
    /// What stands between the two now.
    pub text: T,
}

/// Any row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Text", untagged)]
pub enum Row<T> {
    /// Of `Store::Meta`.
    Meta(Meta),
    /// Of `Store::Sessions`.
    Session(Session),
    /// Of `Store::Messages`.
    Messages(Messages<T>),
    /// Of `Store::References`.
    Reference(Reference),
    /// Of `Store::Checkpoints`.
    Checkpoint(Checkpoint<T>),
    /// Of `Store::Objects`.
    Object(Object<T>),
    /// Of `Store::Writes`.
    Write(Write<T>),
    /// Of `Store::Streams`.
    Stream(Stream<T>),
}

/// A reference says everything in its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {}
