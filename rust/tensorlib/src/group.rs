//! Groups: ranks that compute together.

use crate::call::{check, check_abi, handle, sized_text};
use crate::{Error, Failure, Result};
use std::ffi::CString;
use std::fmt;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;
use tensorlib_sys as sys;

/// Options for making a group.
#[derive(Clone, Debug, Default)]
pub struct GroupOptions {
    timeout: Duration,
}

impl GroupOptions {
    /// The defaults: a rank waits five minutes for another one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long a rank waits for another one before the group fails, in whole milliseconds; 0 stands for the default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Makes a group, or joins the one to which the process belongs. `"self"` is one rank. `"mpi"` are all processes that a
    /// launcher such as mpirun has started, each a rank; they make their groups in the same order. `"auto"` is `"mpi"` if a
    /// launcher has started the process as one of several, otherwise `"self"`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another name and for a timeout of more than a year, [`Error::Unavailable`] if there is
    /// no usable MPI library, and [`Error::Group`] if the other processes have not made the group in time.
    pub fn create(&self, name: &str) -> Result<Group> {
        check_abi()?;
        let params = sys::tl_group_params {
            struct_size: size_of::<sys::tl_group_params>(),
            timeout_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
        };
        // A NUL would cut the name short; no group's name has one.
        let name = CString::new(name.replace('\0', "?")).unwrap_or_default();
        let mut out = ptr::null_mut();
        // SAFETY: name and params live for the call; out is valid.
        check(|err| unsafe { sys::tl_group_create(name.as_ptr(), &params, &mut out, err) })?;
        Ok(Group(Arc::new(Inner { ptr: handle(out)? })))
    }

    /// The handles of `n` ranks, 1 to 1024, that are threads of this process, in the order of ranks.
    ///
    /// # Errors
    /// As [`GroupOptions::create`].
    pub fn local(&self, n: usize) -> Result<Vec<Group>> {
        let mut ranks = vec![self.create(&format!("local:{n}"))?];
        for rank in 1..n {
            let mut out = ptr::null_mut();
            // SAFETY: the group is live; out is valid; there are at most 1024 ranks.
            check(|err| unsafe { sys::tl_group_member(ranks[0].0.ptr.as_ptr(), rank as i32, &mut out, err) })?;
            ranks.push(Group(Arc::new(Inner { ptr: handle(out)? })));
        }
        Ok(ranks)
    }
}

struct Inner {
    ptr: NonNull<sys::tl_group>,
}

// SAFETY: the engine allows every function on a group from any thread.
unsafe impl Send for Inner {}
// SAFETY: the same; a second use at a time is an error inside.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the handle holds this reference, which ends here.
        unsafe { sys::tl_group_free(self.ptr.as_ptr()) }
    }
}

/// A rank's handle of a group of ranks that compute together. [`Tensor::all_sum`](crate::Tensor::all_sum) and its relatives
/// make nodes that exchange tensors between the ranks. Each rank computes a graph of its own with the same nodes of the
/// group, in the order in which they were built. Before a graph's first run the ranks compare these nodes, and a difference
/// is an [`Error::Group`] on all of them.
///
/// A rank that fails, leaves, or misses the deadline is an [`Error::Group`] on the others, and the group fails
/// with it. A rank leaves when its last clone is dropped, and the last context with nodes of it.
///
/// Clones are handles of one rank. Any thread may use them, but only one graph that uses the rank is computed at a time: a
/// second one gets [`Error::Busy`].
///
/// ```
/// use tensorlib::{Backend, Context, Group};
/// let threads: Vec<_> = Group::local(2)?
///     .into_iter()
///     .map(|group| {
///         std::thread::spawn(move || {
///             let ctx = Context::new();
///             let own = ctx.tensor([2], &[1.0, group.rank() as f32])?;
///             own.all_sum(&group)?.eval(&Backend::cpu()?)?.to_vec::<f32>()
///         })
///     })
///     .collect();
/// for thread in threads {
///     assert_eq!(thread.join().unwrap()?, [2.0, 1.0]);
/// }
/// # Ok::<(), tensorlib::Error>(())
/// ```
#[derive(Clone)]
pub struct Group(Arc<Inner>);

impl Group {
    /// Makes a group with the default options.
    ///
    /// # Errors
    /// As [`GroupOptions::create`].
    pub fn create(name: &str) -> Result<Self> {
        GroupOptions::new().create(name)
    }

    /// The handles of `n` ranks that are threads of this process.
    ///
    /// # Errors
    /// As [`GroupOptions::local`].
    pub fn local(n: usize) -> Result<Vec<Self>> {
        GroupOptions::new().local(n)
    }

    /// Divides the group: ranks of one colour form a new one, in the order of their keys, and of their ranks where keys are
    /// equal. All ranks call it, and it waits for them. A rank without a colour is in no new group.
    ///
    /// # Errors
    /// [`Error::Group`] if another rank fails, leaves, makes another call or misses the deadline,
    /// [`Error::Busy`], [`Error::InvalidArgument`] for a colour of 2^31 or more.
    pub fn split(&self, colour: Option<u32>, key: i32) -> Result<Option<Self>> {
        let raw = colour.map_or(Ok(-1), i32::try_from);
        let Ok(raw) = raw else {
            let message = format!("group_split: colour {}: 0 to {} are valid", colour.unwrap_or(0), i32::MAX);
            return Err(Error::InvalidArgument(Failure { op: "group_split".into(), shapes: Vec::new(), message }));
        };
        let mut out = ptr::null_mut();
        // SAFETY: the group is live; out is valid.
        check(|err| unsafe { sys::tl_group_split(self.0.ptr.as_ptr(), raw, key, &mut out, err) })?;
        Ok(NonNull::new(out).map(|ptr| Group(Arc::new(Inner { ptr }))))
    }

    /// The rank, from 0.
    pub fn rank(&self) -> usize {
        // SAFETY: the group is live.
        usize::try_from(unsafe { sys::tl_group_rank(self.raw()) }).unwrap_or(0)
    }

    /// The number of ranks.
    pub fn size(&self) -> usize {
        // SAFETY: as above.
        usize::try_from(unsafe { sys::tl_group_size(self.raw()) }).unwrap_or(0)
    }

    /// What connects the ranks, for display: the library and its version, and why `"auto"` chose one rank.
    pub fn text(&self) -> String {
        // SAFETY: as above; the buffer has as many bytes as said.
        sized_text(|buffer, size| unsafe { sys::tl_group_text(self.raw(), buffer, size) })
    }

    pub(crate) fn raw(&self) -> *const sys::tl_group {
        self.0.ptr.as_ptr()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group(rank {} of {}, {})", self.rank(), self.size(), self.text())
    }
}

/// Which elements rank `rank` of `ranks` ranks has of `n` elements that are divided over the ranks, in whole blocks of `block`
/// elements, such as the blocks of a quantised type ([`DType::block_size`](crate::DType::block_size)). The shares follow
/// each other in the order of ranks. They differ by at most one block, and the first ranks have more. If there are fewer blocks
/// than ranks, some have none. The last block may be partial.
///
/// ```
/// let shares: Vec<_> = (0..3).map(|rank| tensorlib::shard_range(1000, 256, rank, 3).unwrap()).collect();
/// assert_eq!(shares, [0..512, 512..768, 768..1000]);
/// ```
///
/// # Errors
/// [`Error::InvalidArgument`] for a negative `n`, a `block` of less than 1, no ranks, and a rank that is not one of them.
pub fn shard_range(n: i64, block: i64, rank: usize, ranks: usize) -> Result<Range<i64>> {
    check_abi()?;
    // A number of more bits than the engine's is out of range there, too.
    let number = |n: usize| i32::try_from(n).unwrap_or(-1);
    let (mut first, mut count) = (0, 0);
    // SAFETY: first and count are valid.
    check(|err| unsafe { sys::tl_shard_range(n, block, number(rank), number(ranks), &mut first, &mut count, err) })?;
    Ok(first..first + count)
}
