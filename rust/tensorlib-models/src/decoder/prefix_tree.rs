//! A radix tree over tokens, in steps of a page: what is kept for the beginnings of sequences.

use std::collections::{BTreeSet, HashMap};

/// The number of tokens of a page.
pub const PAGE: usize = 64;

/// Pages by the tokens up to their end, with the page that was used longest ago known.
pub struct PrefixTree<P> {
    nodes: Vec<Option<Node<P>>>,
    /// Numbers of `nodes` that are free.
    free: Vec<usize>,
    /// The first pages of sequences.
    roots: HashMap<[u32; PAGE], usize>,
    /// The nodes without children, by the time of their last use.
    leafs: BTreeSet<(u64, usize)>,
    /// The number of finds and insertions so far.
    time: u64,
}

struct Node<P> {
    tokens: [u32; PAGE],
    page: P,
    parent: Option<usize>,
    children: HashMap<[u32; PAGE], usize>,
    used: u64,
}

impl<P: Clone> PrefixTree<P> {
    pub fn new() -> Self {
        PrefixTree { nodes: Vec::new(), free: Vec::new(), roots: HashMap::new(), leafs: BTreeSet::new(), time: 0 }
    }

    /// The number of pages.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The pages of the longest known beginning of these tokens.
    pub fn find(&mut self, tokens: &[u32]) -> Vec<P> {
        self.time += 1;
        let (mut pages, mut at) = (Vec::new(), None);
        for tokens in tokens.chunks_exact(PAGE) {
            let Some(child) = self.child(at, tokens) else { break };
            self.touch(child);
            pages.extend(self.nodes[child].as_ref().map(|node| node.page.clone()));
            at = Some(child);
        }
        pages
    }

    /// The number of pages that [`PrefixTree::find`] finds, without using them.
    pub fn known_pages(&self, tokens: &[u32]) -> usize {
        let mut at = None;
        let known = tokens.chunks_exact(PAGE).take_while(|tokens| {
            at = self.child(at, tokens);
            at.is_some()
        });
        known.count()
    }

    /// The page after those that [`PrefixTree::find`] finds which begins with the most of these tokens, and how many.
    pub fn find_part(&self, tokens: &[u32]) -> Option<(P, usize)> {
        let mut at = None;
        for tokens in tokens.chunks(PAGE) {
            if let Some(child) = Some(tokens).filter(|t| t.len() == PAGE).and_then(|tokens| self.child(at, tokens)) {
                at = Some(child);
                continue;
            }
            let children = match at {
                Some(at) => &self.nodes[at].as_ref()?.children,
                None => &self.roots,
            };
            let same = |page: &[u32; PAGE]| page.iter().zip(tokens).take_while(|(a, b)| a == b).count();
            let (n, number) = children.iter().map(|(page, number)| (same(page), *number)).max()?;
            let page = self.nodes[number].as_ref().map(|node| node.page.clone());
            return page.filter(|_| n > 0).map(|page| (page, n));
        }
        None
    }

    /// Adds the whole pages of these tokens that are not there yet, as far as `most` pages in all allow it: pages of
    /// other sequences make room, those used longest ago first. `make` gets a page's number in the sequence. Returns
    /// the number of the sequence's pages that are there now.
    ///
    /// # Errors
    /// Those of `make`. The pages before stay.
    pub fn insert<E>(
        &mut self,
        tokens: &[u32],
        most: usize,
        mut make: impl FnMut(usize) -> Result<P, E>,
    ) -> Result<usize, E> {
        self.time += 1;
        let (mut at, mut n) = (None, 0);
        for tokens in tokens.chunks_exact(PAGE) {
            let child = match self.child(at, tokens) {
                Some(child) => child,
                None if self.len() < most || self.remove_unused() => {
                    let page = make(n)?;
                    self.add(at, tokens, page)
                }
                None => break,
            };
            self.touch(child);
            (at, n) = (Some(child), n + 1);
        }
        Ok(n)
    }

    /// The page at the end of these tokens, which are whole pages, if it is known.
    pub fn page_mut(&mut self, tokens: &[u32]) -> Option<&mut P> {
        let mut at = None;
        for tokens in tokens.chunks_exact(PAGE) {
            at = Some(self.child(at, tokens)?);
        }
        self.nodes[at?].as_mut().map(|node| &mut node.page)
    }

    /// The pages, those used last first, and each after those before it in its sequences: its tokens, and the number of
    /// the page before it in this list.
    pub fn list(&self) -> Vec<(&[u32; PAGE], &P, Option<usize>)> {
        let depth = |mut number: usize| {
            let mut depth = 0;
            while let Some(parent) = self.nodes[number].as_ref().and_then(|node| node.parent) {
                (number, depth) = (parent, depth + 1);
            }
            depth
        };
        let mut order: Vec<(u64, usize, usize)> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            order.extend(node.as_ref().map(|node| (u64::MAX - node.used, depth(number), number)));
        }
        // A page is used whenever one after it is.
        order.sort_unstable();
        let places: HashMap<usize, usize> = order.iter().enumerate().map(|(i, (_, _, number))| (*number, i)).collect();
        let entry = |(_, _, number): &(u64, usize, usize)| {
            let node = self.nodes[*number].as_ref()?;
            Some((&node.tokens, &node.page, node.parent.and_then(|parent| places.get(&parent).copied())))
        };
        order.iter().filter_map(entry).collect()
    }

    fn child(&self, at: Option<usize>, tokens: &[u32]) -> Option<usize> {
        let children = match at {
            Some(at) => &self.nodes[at].as_ref()?.children,
            None => &self.roots,
        };
        children.get(tokens).copied()
    }

    fn add(&mut self, parent: Option<usize>, tokens: &[u32], page: P) -> usize {
        let mut key = [0; PAGE];
        key.copy_from_slice(tokens);
        let node = Node { tokens: key, page, parent, children: HashMap::new(), used: self.time };
        let number = self.free.pop().unwrap_or(self.nodes.len());
        match self.nodes.get_mut(number) {
            Some(free) => *free = Some(node),
            None => self.nodes.push(Some(node)),
        }
        self.leafs.insert((self.time, number));
        match parent.and_then(|parent| self.nodes[parent].as_mut().map(|node| (parent, node))) {
            Some((parent, node)) => {
                self.leafs.remove(&(node.used, parent));
                node.children.insert(key, number);
            }
            None => _ = self.roots.insert(key, number),
        }
        number
    }

    /// A node is used now. Its parents were touched before.
    fn touch(&mut self, number: usize) {
        let Some(node) = &mut self.nodes[number] else { return };
        if self.leafs.remove(&(node.used, number)) {
            self.leafs.insert((self.time, number));
        }
        node.used = self.time;
    }

    /// Removes the leaf that was used longest ago, unless it is used now.
    fn remove_unused(&mut self) -> bool {
        let is_unused = self.leafs.first().is_some_and(|(used, _)| *used < self.time);
        is_unused && self.remove_oldest()
    }

    /// Removes the leaf that was used longest ago; false if there is none.
    pub fn remove_oldest(&mut self) -> bool {
        let Some((used, number)) = self.leafs.first().copied() else { return false };
        self.leafs.remove(&(used, number));
        let Some(node) = self.nodes[number].take() else { return false };
        self.free.push(number);
        let Some(parent) = node.parent else {
            self.roots.remove(&node.tokens);
            return true;
        };
        if let Some(above) = &mut self.nodes[parent] {
            above.children.remove(&node.tokens);
            if above.children.is_empty() {
                self.leafs.insert((above.used, parent));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// A sequence of pages, each of one repeated token.
    fn sequence(pages: &[u32]) -> Vec<u32> {
        pages.iter().flat_map(|token| [*token; PAGE]).collect()
    }

    fn insert(tree: &mut PrefixTree<u32>, pages: &[u32], most: usize) -> usize {
        let Ok(n) = tree.insert::<Infallible>(&sequence(pages), most, |i| Ok(pages[i]));
        n
    }

    #[test]
    fn beginnings_are_shared_and_found() {
        let mut tree = PrefixTree::new();
        assert!(tree.find(&sequence(&[1])).is_empty());
        assert_eq!(insert(&mut tree, &[1, 2, 3], 10), 3);
        assert_eq!(insert(&mut tree, &[1, 2, 4, 5], 10), 4);
        assert_eq!(tree.len(), 5);
        assert_eq!(tree.find(&sequence(&[1, 2, 4, 9])), [1, 2, 4]);
        assert!(tree.find(&sequence(&[2, 2])).is_empty());
        // Whole pages alone.
        let mut tokens = sequence(&[1, 2, 3]);
        tokens.pop();
        assert_eq!(tree.find(&tokens), [1, 2]);
        tokens[PAGE - 1] = 7;
        assert!(tree.find(&tokens).is_empty());
        assert!(tree.find(&[]).is_empty());
    }

    #[test]
    fn the_ends_used_longest_ago_make_room() {
        let mut tree = PrefixTree::new();
        insert(&mut tree, &[1, 2, 3], 5);
        insert(&mut tree, &[1, 4], 5);
        insert(&mut tree, &[6], 5);
        assert_eq!(tree.len(), 5);
        tree.find(&sequence(&[1, 2, 3]));
        // 4 is the oldest end, then 6.
        insert(&mut tree, &[7], 5);
        assert_eq!((tree.find(&sequence(&[1, 4])), tree.len()), (vec![1], 5));
        insert(&mut tree, &[8], 5);
        assert_eq!((tree.find(&sequence(&[6])), tree.find(&sequence(&[1, 2, 3]))), (vec![], vec![1, 2, 3]));
        // A sequence that is larger than all room takes all of it, without removing its own beginning.
        assert_eq!(insert(&mut tree, &[1, 2, 3, 9, 10, 11, 12], 5), 5);
        assert_eq!(tree.find(&sequence(&[1, 2, 3, 9, 10, 11])), [1, 2, 3, 9, 10]);
        assert_eq!(insert(&mut tree, &[13], 0), 1);
        assert_eq!(tree.len(), 5);
    }

    #[test]
    fn many_random_sequences() {
        let (mut tree, mut state) = (PrefixTree::new(), 1u64);
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..2000 {
            let pages: Vec<u32> = (0..random(6)).map(|_| random(3) as u32).collect();
            let there = tree.find(&sequence(&pages));
            assert_eq!(there, pages[..there.len()]);
            let n = insert(&mut tree, &pages, 20);
            assert!(n == pages.len() && tree.len() <= 20);
            assert_eq!(tree.find(&sequence(&pages)), pages);
            let leafs = tree.nodes.iter().flatten().filter(|node| node.children.is_empty()).count();
            assert_eq!(tree.leafs.len(), leafs);
        }
    }

    #[test]
    fn a_page_is_found_by_its_beginning() {
        let mut tree = PrefixTree::new();
        assert_eq!(tree.find_part(&sequence(&[1])), None);
        let (mut a, mut b) = (sequence(&[1, 2]), sequence(&[1, 2]));
        (a[PAGE + 40], b[PAGE + 20]) = (7, 8);
        for (tokens, page) in [(&a, 10), (&b, 20)] {
            let Ok(2) = tree.insert::<Infallible>(tokens, 10, |i| Ok(page + i as u32)) else { panic!() };
        }
        // 30 tokens fit both; the first of those that differ decides.
        assert_eq!(tree.find_part(&a[..PAGE + 41]), Some((11, 41)));
        assert_eq!(tree.find_part(&b[..PAGE + 41]), Some((21, 41)));
        assert_eq!(tree.find_part(&sequence(&[1, 2])).map(|(_, n)| n), Some(40));
        assert_eq!(tree.find_part(&a[..PAGE]), None);
        assert_eq!(tree.find_part(&a[..30]), Some((10, 30)));
        assert_eq!(tree.find_part(&sequence(&[1, 9])), None);
        assert_eq!(tree.find_part(&[]), None);
    }

    #[test]
    fn the_list_has_parents_and_recent_pages_first() {
        let mut tree = PrefixTree::new();
        insert(&mut tree, &[1, 2, 3], 10);
        insert(&mut tree, &[4], 10);
        insert(&mut tree, &[1, 5], 10);
        let list: Vec<(u32, u32, Option<usize>)> = tree.list().iter().map(|(t, p, at)| (t[0], **p, *at)).collect();
        assert_eq!(list, [(1, 1, None), (5, 5, Some(0)), (4, 4, None), (2, 2, Some(0)), (3, 3, Some(3))]);
    }

    #[test]
    fn a_failure_keeps_the_pages_before_it() {
        let mut tree = PrefixTree::new();
        let failed = tree.insert(&sequence(&[1, 2, 3]), 9, |i| if i < 2 { Ok(i) } else { Err("no memory") });
        assert_eq!((failed, tree.len()), (Err("no memory"), 2));
        assert_eq!(tree.find(&sequence(&[1, 2, 3])), [0, 1]);
    }
}
