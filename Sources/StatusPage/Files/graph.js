// Jobs that wait for each other, as a small graph from left to right.

import {find, pathOf} from './api.js'
import {link} from './app.js'
import {h, svg} from './dom.js'

/** The most jobs that are shown, and how far from the job in question. */
const LIMIT = 24
const REACH = 2

/**
 * Finds the jobs that a job waits for, and those that wait for it, over a few steps.
 *
 * @returns nodes with id, state and column (0 is the job's own), and edges from what is waited for; mayHaveMore if those are not all.
 */
export async function relatives(job) {
  const nodes = new Map([[job.id, {id: job.id, state: job.state, type: job.type, column: 0}]])
  const edges = new Map()
  let frontier = [{id: job.id, column: 0}]
  let mayHaveMore = false
  for (let step = 0; step < REACH && frontier.length && nodes.size < LIMIT; step += 1) {
    const found = await Promise.all(frontier.map(({id}) => find(pathOf('jobs', id, 'relatives')).catch(() => null)))
    const next = []
    found.forEach((kin, index) => {
      // One that is not told of is one that others may stand behind.
      mayHaveMore ||= kin?.mayHaveMore ?? true
      if (!kin) return
      const {id, column} = frontier[index]
      const add = (other, side) => {
        edges.set(side < 0 ? `${other.id}\n${id}` : `${id}\n${other.id}`, side < 0 ? [other.id, id] : [id, other.id])
        if (nodes.has(other.id)) return
        if (nodes.size >= LIMIT) {
          mayHaveMore = true
          return
        }
        nodes.set(other.id, {...other, column: column + side})
        // What else the others of a crowd wait for is another story.
        if (other.state && Math.sign(column + side) === side) next.push({id: other.id, column: column + side})
      }
      for (const other of kin.after) add(other, -1)
      for (const other of kin.before) add(other, 1)
    })
    frontier = next
  }
  return {nodes: [...nodes.values()], edges: [...edges.values()].filter(([from, to]) => nodes.has(from) && nodes.has(to)), mayHaveMore}
}

const BOX = {width: 190, height: 44, gapX: 60, gapY: 14}

/** Draws the graph; each job is a link to its story, and the text says who waits for whom. */
export function graph({nodes, edges, mayHaveMore}, own) {
  const columns = [...new Set(nodes.map(node => node.column))].sort((a, b) => a - b)
  const places = new Map()
  let rows = 0
  for (const [x, column] of columns.entries()) {
    const here = nodes.filter(node => node.column === column)
    rows = Math.max(rows, here.length)
    here.forEach((node, y) => places.set(node.id, {x, y, of: here.length}))
  }
  const width = columns.length * (BOX.width + BOX.gapX) - BOX.gapX
  const height = rows * (BOX.height + BOX.gapY) - BOX.gapY
  const left = id => places.get(id).x * (BOX.width + BOX.gapX)
  // A short column stands in the middle of a long one.
  const top = id => (places.get(id).y + (rows - places.get(id).of) / 2) * (BOX.height + BOX.gapY)
  const lines = edges.map(([from, to]) => {
    const [x1, y1, x2, y2] = [left(from) + BOX.width, top(from) + BOX.height / 2, left(to), top(to) + BOX.height / 2]
    const middle = (x1 + x2) / 2
    return svg('path', {d: `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}`})
  })
  // The tabulator goes from box to box as they are read, not as they were found.
  const inOrder = nodes.toSorted((a, b) => left(a.id) - left(b.id) || top(a.id) - top(b.id))
  const boxes = inOrder.map(node => svg('a', {href: link('jobs', [node.id]), class: node.id === own ? 'own' : null,
    'aria-label': `${node.id}, ${node.state ?? 'not submitted yet'}`},
  svg('title', null, `${node.id} (${node.type ?? 'unknown'}, ${node.state ?? 'not submitted yet'})`),
  svg('rect', {x: left(node.id), y: top(node.id), width: BOX.width, height: BOX.height, rx: 8, class: `state-${node.state ?? 'unknown'}`}),
  svg('text.name', {x: left(node.id) + 14, y: top(node.id) + 18}, shorten(node.id)),
  svg('text', {x: left(node.id) + 14, y: top(node.id) + 35}, node.state ?? 'not submitted yet')))
  const region = h('div.graph', {tabindex: 0, role: 'region', 'aria-label': 'Jobs that wait for each other'},
    // Half of a thick line lies outside of its box.
    svg('svg', {width: width + 4, height: height + 4, viewBox: `-2 -2 ${width + 4} ${height + 4}`}, svg('g.edges', {'aria-hidden': 'true'}, lines), boxes),
    h('p.unseen', null, edges.map(([from, to]) => `${to} waits for ${from}. `)))
  // Only the first drawing is itself shown: later ones change it, and leave it where the reader has scrolled it.
  queueMicrotask(() => { if (region.isConnected) region.scrollLeft = left(own) - (region.clientWidth - BOX.width) / 2 })
  return [region, mayHaveMore && h('p.hint', null, 'There may be more jobs that wait for each other than these.')]
}

const shorten = id => id.length > 23 ? `${id.slice(0, 11)}…${id.slice(-11)}` : id
