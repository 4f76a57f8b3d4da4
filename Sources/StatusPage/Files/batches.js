// Batches: jobs that belong together, and how far each batch is.

import {find, get} from './api.js'
import {link} from './app.js'
import {h} from './dom.js'
import * as format from './format.js'
import {commandButtons} from './actions.js'
import {card, empty, heading, jobLink, shares, stateBadge, STATES, table, time, UNFINISHED} from './parts.js'

async function load({parts: [name]}) {
  if (name) {
    const jobs = await get('/v1/jobs', {batch: name, counts: 'true', limit: 200})
    return {name, jobs: jobs.jobs, counts: jobs.counts ?? {}}
  }
  return {batches: (await find('/v1/batches'))?.batches ?? []}
}

const render = data => data.name ? one(data) : all(data)

const doneShare = counts => {
  const total = STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  const open = UNFINISHED.reduce((sum, state) => sum + (counts[state] ?? 0), 0)
  return {total, open, share: total ? (total - open) / total : 0}
}

function all({batches}) {
  const rows = batches.map(batch => {
    const {total, open, share} = doneShare(batch.jobs)
    return {key: batch.name, cells: [
      h('a', {href: link('batches', [batch.name])}, batch.name), shares(batch.jobs, `Jobs of ${batch.name}`),
      h('progress', {max: 1, value: share, 'aria-label': `Progress of ${batch.name}`}),
      open ? `${format.count(open)} of ${format.count(total)} left` : 'all over', time(batch.lastAcceptedAt),
    ]}
  })
  return [
    heading('Batches'),
    rows.length ? card(null, null, table('Batches', ['Batch', 'Jobs', 'Progress', {title: 'Left', class: 'number'}, {title: 'Last accepted', class: 'number'}], rows))
      : empty('No job belongs to a batch. A job file gives its jobs one with ', h('code', null, '"batch"'), '.'),
  ]
}

function one({name, jobs, counts}) {
  const {total, open, share} = doneShare(counts)
  const rows = jobs.map(job => ({key: job.id, cells: [
    jobLink(job.id), job.type, stateBadge(job.state), job.error ? h('span.error-text', null, job.error) : h('span.none', null, '–'), time(job.finishedAt ?? job.createdAt),
  ]}))
  const states = STATES.filter(state => counts[state])
  return [
    heading(h('span', null, 'Batch ', h('span.mono', null, name)),
      ...commandButtons(states, () => ({where: {batch: name}, states}), {suffix: ' all'})),
    h('div.card', null, h('p.lead', null, open ? `${format.plural(open, 'job')} of ${format.count(total)} left` : `All ${format.plural(total, 'job')} are over`),
      h('progress.thick', {max: 1, value: share, 'aria-label': `Progress of ${name}`}), shares(counts)),
    card(null, null, table(`Jobs of ${name}`, ['Job', 'Type', 'State', 'Error', {title: 'Last change', class: 'number'}], rows),
      total > jobs.length && h('p', null, h('a', {href: link('jobs', [], {batch: name})}, 'All of its jobs'))),
  ]
}

export default {load, render, wants: ['job', 'removed']}
