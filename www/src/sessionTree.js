// Sessions as a tree: a fork hangs under the session it comes from, the kept work of a lost race under the one it lost to.

/** Rows `{ session, depth, last, guides, orphan }` in display order. The newest family comes first. */
export function sessionRows(sessions) {
  const known = new Map(sessions.map((session) => [session.id, { session, children: [], newest: session.updatedAt }]));
  const roots = [];
  for (const node of known.values()) {
    const parentId = node.session.conflictOf ?? node.session.forkedFrom?.sessionId ?? null;
    const parent = parentId === null || leadsBack(known, parentId, node.session.id) ? undefined : known.get(parentId);
    node.orphan = parentId !== null && parent === undefined;
    (parent?.children ?? roots).push(node);
  }
  const rows = [];
  const todo = roots.map((node) => ({ node, depth: 0, guides: [], last: true }));
  // Newest of each family, children before parents.
  const order = [...roots];
  for (const node of order) order.push(...node.children);
  for (const node of order.reverse()) {
    node.children.sort((a, b) => a.session.createdAt - b.session.createdAt);
    for (const child of node.children) node.newest = Math.max(node.newest, child.newest);
  }
  todo.sort((a, b) => a.node.newest - b.node.newest);
  while (todo.length > 0) {
    const { node, depth, guides, last } = todo.pop();
    rows.push({ session: node.session, depth, guides, last, orphan: node.orphan, children: node.children.length });
    const below = depth === 0 ? [] : [...guides, !last];
    node.children.toReversed().forEach((child, i) => todo.push({ node: child, depth: depth + 1, guides: below, last: i === 0 }));
  }
  return rows;
}

/** Whether `id` is the session itself or one of its own descendants (only damaged data can say so). */
function leadsBack(known, id, self) {
  for (let at = id, steps = 0; at !== undefined && steps < 1000; steps += 1) {
    if (at === self) return true;
    const session = known.get(at)?.session;
    at = session?.conflictOf ?? session?.forkedFrom?.sessionId;
  }
  return false;
}
