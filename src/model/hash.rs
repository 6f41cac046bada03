//! Content hashes.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A BLAKE3 hash: the identity of a content.
///
/// Cryptographic on purpose: stored content may come from an import file or a hostile page, and two contents that
/// share a hash would be stored as one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of bytes, in a domain of their own (`text`, `bytes`, `node`): contents of different kinds never share a hash.
    #[must_use]
    pub fn of(domain: &str, pieces: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(domain.as_bytes());
        for piece in pieces {
            hasher.update(&(piece.len() as u64).to_le_bytes());
            hasher.update(piece);
        }
        Hash(*hasher.finalize().as_bytes())
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }

    /// Reads 64 hex digits; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Hash(bytes))
    }

    /// Many hashes as one run of bytes, which browsers store and copy far faster than many strings.
    #[must_use]
    pub fn pack(hashes: &[Hash]) -> Vec<u8> {
        hashes.iter().flat_map(|hash| hash.0).collect()
    }

    /// The reverse of [`Hash::pack`]; `None` when the length is not a multiple of 32.
    #[must_use]
    pub fn unpack(bytes: &[u8]) -> Option<Vec<Hash>> {
        let chunks = bytes.chunks_exact(32);
        if !chunks.remainder().is_empty() {
            return None;
        }
        chunks.map(|chunk| chunk.try_into().ok().map(Hash)).collect()
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Hash::from_hex(&text).ok_or_else(|| de::Error::custom("not a hash"))
    }
}

/// Serde for lists of hashes as one byte run.
pub mod packed {
    use super::Hash;
    use serde::{Deserializer, Serializer, de};

    /// Writes the list as bytes.
    ///
    /// # Errors
    /// Whatever the serializer refuses.
    pub fn serialize<S: Serializer>(hashes: &[Hash], serializer: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(&Hash::pack(hashes), serializer)
    }

    /// Reads bytes as a list.
    ///
    /// # Errors
    /// When the bytes are not a whole number of hashes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Hash>, D::Error> {
        let bytes: Vec<u8> = serde_bytes::deserialize(deserializer)?;
        Hash::unpack(&bytes).ok_or_else(|| de::Error::custom("not a whole number of hashes"))
    }
}
