// Quarantine: jobs whose processes crashed too often, with what the crashes have left.

import {get, pathOf} from './api.js'
import {commandButtons} from './actions.js'
import {link} from './app.js'
import {h} from './dom.js'
import {evidenceFacts} from './job.js'
import {card, empty, heading, jobLink, time} from './parts.js'

const PAGE = 20

/** What a job's attempts hang on: it has no other ones until it leaves the quarantine. */
const stay = job => `${job.id} ${job.finishedAt} ${job.durable}`

async function load(_, memory) {
  const {jobs, count} = await get('/v1/jobs', {state: 'quarantined', limit: PAGE})
  const attempts = await Promise.all(jobs.map(async job =>
    memory.attempts?.get(stay(job)) ?? (await get(pathOf('jobs', job.id, 'attempts'))).attempts))
  memory.attempts = new Map(jobs.map((job, index) => [stay(job), attempts[index]]))
  return {jobs, total: count, attempts}
}

function render({jobs, total, attempts}) {
  const counts = {quarantined: total}
  return [
    heading('Quarantine', ...(total ? commandButtons(['quarantined'], () => ({where: {}, states: ['quarantined']}), {suffix: ' all'}) : [])),
    h('p.intro', null, 'Jobs whose processes crashed too often. They stay here until you run them again or cancel them.'),
    jobs.length ? null : empty('No job is in quarantine.'),
    jobs.map((job, index) => {
      const crashes = attempts[index].filter(attempt => attempt.evidence)
      const last = crashes.at(-1)
      return h('section.card', {'data-key': job.id},
        h('div.heading', null, h('h2', null, jobLink(job.id), ' ', h('span.type', null, job.type)),
          h('div.beside', null, commandButtons(['quarantined'], () => ({ids: [job.id]}), {submitter: job.submitter}))),
        job.error && h('p.error-text', null, job.error),
        h('p', null, `Attempt ${job.attempt} of ${job.maxAttempts}, `, time(job.finishedAt)),
        last && evidenceFacts(last.evidence))
    }),
    total > jobs.length && h('p', null, h('a', {href: link('jobs', [], {state: 'quarantined'})}, 'All jobs in quarantine')),
  ]
}

export default {load, render, wants: ['job', 'removed']}
