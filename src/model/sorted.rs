//! Sorted maps and sets.
//!
//! They do what those of the standard library do, in the same time, and compile to a tenth of the code: this crate has
//! some thirty of them, and a page loads all of it. Entries lie in pages, so that an insertion moves few of them however
//! many there are. Nothing is hashed, so no keys of a hostile file collide, and every walk has the same order each time.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most entries of a page.
const PAGE: usize = 256;

/// A map, sorted by its keys.
#[derive(Clone)]
pub struct Map<K, V> {
    /// None of them empty.
    pages: Vec<Vec<(K, V)>>,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map::new()
    }
}

impl<K, V> Map<K, V> {
    /// A map that holds nothing.
    #[must_use]
    pub const fn new() -> Self {
        Map { pages: Vec::new() }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The entries, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.pages.iter().flatten().map(|(key, value)| (key, value))
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.pages.iter().flatten().map(|(key, _)| key)
    }

    /// The values, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.pages.iter().flatten().map(|(_, value)| value)
    }

    /// The values, by key, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.pages.iter_mut().flatten().map(|(_, value)| value)
    }

    /// The values, by key.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.pages.into_iter().flatten().map(|(_, value)| value)
    }
}

/// A page and a place in it.
type Place = (usize, usize);

impl<K: Ord, V> Map<K, V> {
    /// Where a key is, or else where it belongs.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        let begins_before = |page: &Vec<(K, V)>| page.first().is_some_and(|(first, _)| first.borrow() <= key);
        let page = self.pages.partition_point(begins_before).saturating_sub(1);
        let Some(entries) = self.pages.get(page) else { return Err((0, 0)) };
        let order = |(other, _): &(K, V)| other.borrow().cmp(key);
        entries.binary_search_by(order).map(|at| (page, at)).map_err(|at| (page, at))
    }

    fn place(&mut self, (page, at): Place, key: K, value: V) -> Place {
        if self.pages.is_empty() {
            self.pages.push(Vec::new());
        }
        let Some(entries) = self.pages.get_mut(page) else { return (page, at) };
        entries.insert(at, (key, value));
        if entries.len() <= PAGE {
            return (page, at);
        }
        // What comes in order fills its pages.
        let half = if at == PAGE { PAGE } else { PAGE / 2 };
        let rest = entries.split_off(half);
        self.pages.insert(page + 1, rest);
        if at < half { (page, at) } else { (page + 1, at - half) }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (page, at) = self.find(key).ok()?;
        self.pages.get(page)?.get(at).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (page, at) = self.find(key).ok()?;
        self.pages.get_mut(page)?.get_mut(at).map(|(_, value)| value)
    }

    /// Whether there is a value of a key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key; gives the one before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok((page, at)) => {
                let (_, old) = self.pages.get_mut(page)?.get_mut(at)?;
                Some(std::mem::replace(old, value))
            }
            Err(place) => {
                self.place(place, key, value);
                None
            }
        }
    }

    /// The value of a key, made where there is none.
    pub fn slot_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (page, at) = match self.find(&key) {
            Ok(place) => place,
            Err(place) => self.place(place, key, make()),
        };
        // The entry is there: it was found or has been placed.
        #[allow(clippy::indexing_slicing)]
        &mut self.pages[page][at].1
    }

    /// The value of a key, the default one where there was none.
    pub fn slot(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.slot_with(key, V::default)
    }

    /// Removes a key; gives its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (page, at) = self.find(key).ok()?;
        let entries = self.pages.get_mut(page)?;
        let (_, value) = entries.remove(at);
        if entries.is_empty() {
            self.pages.remove(page);
        }
        Some(value)
    }

    /// The last entry whose key is not above this one.
    pub fn up_to<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (page, at) = match self.find(key) {
            Ok(place) => place,
            Err((page, at)) => (page, at.checked_sub(1)?),
        };
        self.pages.get(page)?.get(at).map(|(key, value)| (key, value))
    }

    /// The entries whose keys are not below this one, ascending.
    pub fn from<Q: Ord + ?Sized>(&self, key: &Q) -> impl Iterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (page, at) = self.find(key).unwrap_or_else(|place| place);
        self.pages.iter().skip(page).flatten().skip(at).map(|(key, value)| (key, value))
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Map::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<(K, V)>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.pages.into_iter().flatten()
    }
}

// How entries are spread over pages says nothing.
impl<K: PartialEq, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for Map<K, V> {}

impl<K: Ord, V: Ord> PartialOrd for Map<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, V: Ord> Ord for Map<K, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Serialize, V: Serialize> Serialize for Map<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Map<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = Map<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut map = Map::new();
                while let Some((key, value)) = access.next_entry()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// A sorted set.
#[derive(Clone, PartialEq, Eq)]
pub struct Set<K>(Map<K, ()>);

impl<K> Default for Set<K> {
    fn default() -> Self {
        Set(Map::default())
    }
}

impl<K> Set<K> {
    /// A set that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many members it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &K> + Clone {
        self.0.keys()
    }
}

impl<K: Ord> Set<K> {
    /// Adds a member; whether it is new.
    pub fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, ()).is_none()
    }

    /// Removes a member; whether it was one.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }

    /// Whether something is a member.
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }
}

impl<K: Ord> Extend<K> for Set<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<K: Ord> FromIterator<K> for Set<K> {
    fn from_iter<I: IntoIterator<Item = K>>(members: I) -> Self {
        let mut set = Set::new();
        set.extend(members);
        set
    }
}

impl<K: fmt::Debug> fmt::Debug for Set<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
