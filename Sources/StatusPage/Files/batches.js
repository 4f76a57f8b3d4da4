// Batches: jobs that belong together, and how far each batch is.

import {get} from './api.js'
import {link} from './app.js'
import {h} from './dom.js'
import * as format from './format.js'
import {commandButtons} from './actions.js'
import {card, empty, heading, jobCell, named, outcome, shares, stateBadge, STATES, table, time, UNFINISHED, updated} from './parts.js'

/** The most jobs of a batch that its own view lists. */
const MOST = 200

async function load({parts: [name]}) {
  if (!name) return await get('/v1/batches')
  const {jobs, counts, countsAtLeast} = await get('/v1/jobs', {batch: name, counts: 'true', limit: MOST})
  return {name, jobs, counts, isAtLeast: countsAtLeast}
}

const render = data => data.name ? one(data) : all(data)

const total = (counts, states = STATES) => states.reduce((sum, state) => sum + (counts[state] ?? 0), 0)

/** How many jobs of a batch are left, as far as they could be counted. */
function left(counts, isAtLeast) {
  const [number, open] = [total(counts), total(counts, UNFINISHED)]
  if (open || isAtLeast) return format.least(`${format.plural(open, 'job')} of ${format.count(number)} left`, isAtLeast)
  return `All ${format.plural(number, 'job')} are over`
}

/** How much of a batch is over; one that is not is not at 100 %, however near. */
const share = (counts, isAtLeast) =>
  isAtLeast ? '–' : `${Math.floor((1 - total(counts, UNFINISHED) / total(counts)) * 100)} %`

function all({batches, mayHaveMore}) {
  const rows = batches.map(({name, jobs, atLeast, lastAcceptedAt}) => ({key: name, cells: [
    named(h('a', {href: link('batches', [name])}, name)), shares(jobs, {of: name, isAtLeast: atLeast}), share(jobs, atLeast), left(jobs, atLeast),
    time(lastAcceptedAt),
  ]}))
  return [
    heading('Batches'),
    rows.length ? table('Batches', [{title: 'Batch', class: 'name'}, {title: 'Jobs', class: 'broad'}, {title: 'Over', class: 'number'},
      {title: 'Left', class: 'number'}, {title: 'Last accepted', class: 'number'}], rows)
      : mayHaveMore ? empty('None of the newest jobs belongs to a batch; older ones may.')
      : empty('No job belongs to a batch. A job file gives its jobs one with ', h('code', null, '"batch"'), '.'),
    mayHaveMore && rows.length > 0 && h('p.hint', null, 'There may be more batches than those of the newest jobs.'),
  ]
}

function one({name, jobs, counts, isAtLeast}) {
  const title = h('span', null, 'Batch ', h('span.mono', null, name))
  if (!jobs.length) return [heading(title), empty('No job belongs to this batch, or none of its jobs is kept any more.')]
  const rows = jobs.map(job => ({key: job.id, cells: [
    jobCell(job), stateBadge(job.state), outcome(job), time(job.finishedAt ?? job.createdAt),
  ]}))
  const states = STATES.filter(state => counts[state])
  return [
    heading(title, ...commandButtons(states, () => ({where: {batch: name}, states}), {suffix: ' all'})),
    card(null, null, h('p.lead', null, left(counts, isAtLeast)), shares(counts, {of: name, isAtLeast})),
    table(`Jobs of ${name}`, [{title: 'Job', class: 'job'}, {title: 'State', class: 'state'}, {title: 'Progress or outcome', class: 'outcome'},
      {title: 'Last change', class: 'number when'}], rows, 'jobs'),
    (isAtLeast || total(counts) > jobs.length) && h('p.after', null, h('a', {href: link('jobs', [], {batch: name})}, 'All of its jobs')),
  ]
}

const hear = (data, changes) => data.name ? {...data, jobs: updated(data.jobs, changes)} : data

export default {load, render, hear, wants: ['job', 'removed']}
