//! The pool: pages of keys and values that the sequences of a batch share.

use super::cache::{Cache, NewRows, Rows};
use super::prefix_tree::PAGE;
use super::shape::Shape;
use crate::weights::DeviceMap;
use crate::Result;
use std::sync::{Arc, Mutex, PoisonError};
use tensorlib::{DType, Tensor};

/// The rows of all pages, and which of them are free.
pub struct Pool {
    cache: Cache,
    pages: usize,
    free: Arc<Mutex<Vec<u32>>>,
}

/// A page, which is free again when its last owner drops it.
pub struct Page {
    number: u32,
    free: Arc<Mutex<Vec<u32>>>,
}

impl Page {
    /// The page's number: its first row is 64 times that.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Nothing between locking and unlocking can panic but the allocator, which ends the process.
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

impl Pool {
    /// Makes a pool for `tokens` tokens of all sequences together, in whole pages.
    pub fn new(shape: &Shape, tokens: usize, dtype: DType, devices: &DeviceMap) -> Result<Self> {
        let pages = tokens.div_ceil(PAGE);
        let cache = Cache::new(shape, (pages * PAGE) as i64, dtype, devices)?;
        // The lowest number is taken first.
        let free = (0..pages as u32).rev().collect();
        Ok(Pool { cache, pages, free: Arc::new(Mutex::new(free)) })
    }

    /// Takes a free page, if there is one.
    pub fn take(&self) -> Option<Page> {
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Page { number, free: self.free.clone() })
    }

    /// The number of all pages, and of those that are free.
    pub fn pages(&self) -> (usize, usize) {
        (self.pages, self.free.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    /// Bytes of all pages.
    pub fn nbytes(&self) -> usize {
        self.cache.nbytes()
    }

    /// The type of keys and values.
    pub fn dtype(&self) -> DType {
        self.cache.dtype()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        PAGE * self.cache.all_rows().map(Rows::row_bytes).sum::<usize>()
    }

    /// The keys and values of a page, layer by layer, keys before values.
    pub fn read(&self, page: &Page) -> Result<Vec<u8>> {
        self.cache.read_rows(page.number as usize * PAGE, PAGE)
    }

    /// Sets the keys and values of a page to what [`Pool::read`] returned.
    pub fn write(&self, page: &Page, bytes: &[u8]) -> Result<()> {
        self.cache.write_rows(page.number as usize * PAGE, PAGE, bytes)
    }

    /// Copies the keys and values of a page's first n tokens to another page.
    pub fn copy(&self, from: &Page, to: &Page, n: usize) -> Result<()> {
        let rows = self.cache.read_rows(from.number as usize * PAGE, n)?;
        self.cache.write_rows(to.number as usize * PAGE, n, &rows)
    }

    /// Appends nodes that store keys and values of some tokens in these rows. Returns the layer's keys and values as
    /// attention over pages takes them: [head, heads, rows].
    pub fn put(&self, layer: usize, new: &NewRows, rows: &Tensor) -> Result<(Tensor, Tensor)> {
        self.cache.put_rows(layer, new, rows)
    }
}
