//! Groups: each rank's results, gradients, ranks that differ, leave or do not come, splits and bad input.

use std::thread;
use std::time::Duration;
use tensorlib::{shard_range, Backend, Context, Error, Group, GroupOptions, Result, Tensor};

/// What `f` returns on each rank, which is a thread.
fn on_ranks<T: Send + 'static>(
    ranks: Vec<Group>,
    f: impl Fn(Group) -> Result<T> + Clone + Send + 'static,
) -> Vec<Result<T>> {
    let start = |group| {
        let f = f.clone();
        thread::spawn(move || f(group))
    };
    let threads: Vec<_> = ranks.into_iter().map(start).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn values(t: &Tensor) -> Result<Vec<f32>> {
    t.eval(&Backend::new("cpu")?)?.to_vec::<f32>()
}

#[test]
fn each_rank_gets_its_result() {
    for n in 1..=4 {
        let results = on_ranks(Group::local(n).unwrap(), move |group| {
            let (ctx, rank, n) = (Context::new(), group.rank(), group.size());
            let a = ctx.tensor([4], &[0f32, 1., 2., 3.].map(|x| x + 10. * rank as f32))?;
            let ranks = |f: &dyn Fn(usize) -> Vec<f32>| (0..n).flat_map(f).collect::<Vec<_>>();
            let of = |rank: usize| (0..4).map(|i| (i + 10 * rank) as f32).collect::<Vec<_>>();
            let sum: Vec<f32> = (0..4).map(|i| (n * i + 10 * (n - 1) * n / 2) as f32).collect();
            assert_eq!(values(&a.all_sum(&group)?)?, sum);
            assert_eq!(values(&a.all_max(&group)?)?, of(n - 1));
            assert_eq!(values(&a.all_gather(0, &group)?)?, ranks(&of));
            assert_eq!(values(&a.broadcast(n as i64 - 1, &group)?)?, of(n - 1));
            let wide = ctx.tensor([2 * n as i64], &(0..2 * n).map(|i| (i + 100 * rank) as f32).collect::<Vec<_>>())?;
            let shared = |i: usize| (0..n).map(|r| (2 * rank + i + 100 * r) as f32).sum::<f32>();
            assert_eq!(values(&wide.sum_scatter(0, &group)?)?, [shared(0), shared(1)]);
            let parts = ranks(&|r| vec![(2 * rank + 100 * r) as f32, (2 * rank + 1 + 100 * r) as f32]);
            assert_eq!(values(&wide.all_to_all(0, &group)?)?, parts);
            let (next, before) = ((rank + 1) % n, (rank + n - 1) % n);
            let (sent, received) = (a.send(next as i64, &group)?, a.receive(before as i64, &group)?);
            Backend::cpu()?.compute(&[&sent, &received])?;
            assert_eq!((sent.to_vec::<f32>()?, received.to_vec::<f32>()?), (of(rank), of(before)));
            // The loss is the same on all ranks.
            let loss = a.copy_to_group(&group)?.all_sum(&group)?.sqr()?.sum(..)?;
            let gradient = values(&loss.gradients(&[&a])?[0])?;
            assert_eq!(gradient, sum.iter().map(|x| 2. * x * n as f32).collect::<Vec<_>>());
            Ok(())
        });
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    }
}

#[test]
fn ranks_that_differ_or_leave_are_errors() {
    let different = on_ranks(Group::local(2).unwrap(), |group| {
        let ctx = Context::new();
        let a = ctx.tensor([2 + group.rank() as i64], &[1f32, 2., 3.][..2 + group.rank()])?;
        values(&a.all_sum(&group)?)
    });
    for result in different {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Group(_)), "{error:?}");
        assert!(error.to_string().contains("all_sum of [2] f32 on rank 0, all_sum of [3] f32 on rank 1"), "{error}");
    }
    let left = on_ranks(Group::local(2).unwrap(), |group| match group.rank() {
        0 => Ok(Vec::new()),
        _ => values(&Context::new().tensor([1], &[1f32])?.all_sum(&group)?),
    });
    assert!(
        left[1].as_ref().is_err_and(|e| matches!(e, Error::Group(_)) && e.to_string().contains("rank 0 has left")),
        "{left:?}"
    );
    let mut ranks = GroupOptions::new().timeout(Duration::from_millis(50)).local(2).unwrap();
    let late = values(&Context::new().tensor([1], &[1f32]).unwrap().all_sum(&ranks[0]).unwrap()).unwrap_err();
    assert!(late.to_string().contains("has waited 50 ms for rank 1"), "{late}");
    let dead = values(&Context::new().tensor([1], &[1f32]).unwrap().all_sum(&ranks.remove(1)).unwrap()).unwrap_err();
    assert!(matches!(dead, Error::Group(_)), "{dead:?}");
}

#[test]
fn shares_are_whole_blocks() {
    for (n, block) in [(0, 1), (1, 1), (5, 8), (1000, 256), (i64::MAX, 1), (i64::MAX, 256), (i64::MAX - 255, i64::MAX)]
    {
        for ranks in [1, 2, 3, 7, 1024] {
            let shares: Vec<_> = (0..ranks).map(|rank| shard_range(n, block, rank, ranks).unwrap()).collect();
            assert_eq!((shares[0].start, shares[ranks - 1].end), (0, n));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start), "{shares:?}");
            assert!(shares.iter().all(|share| share.start % block == 0 || share.start == n), "{shares:?}");
            let blocks = |share: &std::ops::Range<i64>| {
                (share.end - share.start) / block + i64::from((share.end - share.start) % block != 0)
            };
            assert!(shares.iter().all(|share| blocks(&shares[0]) - blocks(share) <= 1), "{shares:?}");
        }
    }
    for (n, block, rank, ranks) in
        [(-1, 8, 0, 2), (5, 0, 0, 2), (5, 8, 2, 2), (5, 8, 0, 0), (5, 8, usize::MAX, 2), (5, 8, 0, usize::MAX)]
    {
        let error = shard_range(n, block, rank, ranks).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("valid"), "{error}");
    }
}

#[test]
fn splits_and_bad_input() {
    let parts = on_ranks(Group::local(3).unwrap(), |group| {
        let rank = group.rank();
        let part = group.split((rank != 1).then_some(5), -(rank as i32))?;
        let there = part.as_ref().map(|part| (part.rank(), part.size()));
        assert!(group.split(Some(u32::MAX), 0).unwrap_err().to_string().contains("colour 4294967295"));
        match &part {
            Some(part) => {
                values(&Context::new().tensor([1], &[rank as f32])?.all_gather(0, part)?).map(|all| (there, all))
            }
            None => Ok((there, Vec::new())),
        }
    });
    let parts: Vec<_> = parts.into_iter().map(Result::unwrap).collect();
    assert_eq!(parts, [(Some((1, 2)), vec![2., 0.]), (None, vec![]), (Some((0, 2)), vec![2., 0.])]);

    for name in ["", "selv", "local:0", "local:x", "a\0b"] {
        let error = Group::create(name).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains("valid"), "{error}");
    }
    assert!(matches!(Group::local(0), Err(Error::InvalidArgument(_))));
    let long = GroupOptions::new().timeout(Duration::MAX).create("self");
    assert!(matches!(long, Err(Error::InvalidArgument(_))), "{long:?}");
    let own = Group::create("self").unwrap();
    assert_eq!((own.rank(), own.size(), own.text()), (0, 1, "self: one rank".to_string()));
    assert_eq!(format!("{own:?}"), "Group(rank 0 of 1, self: one rank)");
    let ctx = Context::new();
    let a = ctx.tensor([3], &[1f32, 2., 3.]).unwrap();
    assert!(matches!(a.broadcast(1, &own), Err(Error::InvalidArgument(_))));
    // The node keeps the group.
    let sum = a.all_sum(&own).unwrap();
    drop(own);
    assert_eq!(values(&sum).unwrap(), [1., 2., 3.]);
}
