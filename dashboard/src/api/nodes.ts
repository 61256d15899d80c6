// All nodes of the aggregator, page by page.
import { request } from './client';
import { Poll } from './poll';
import type { ListNodesResponse, Node } from './types';

const PAGES = 100;

export async function allNodes(path: string): Promise<Node[]> {
  const nodes: Node[] = [];
  let after = '';
  for (let page = 0; page < PAGES; ++page) {
    const answer = await request<ListNodesResponse>(path + after);
    nodes.push(...answer.nodes);
    const last = answer.nodes.at(-1);
    if (!answer.more || last === undefined) break;
    after = `${path.includes('?') ? '&' : '?'}after_site=${encodeURIComponent(last.site)}&after_node=${encodeURIComponent(last.name)}`;
  }
  return nodes;
}

export const nodes = new Poll<Node[]>('api/v1/nodes', 2_000, allNodes);
