// Queues and types: what waits in them, their limits and pauses.

import {get, post} from './api.js'
import {link, reload} from './app.js'
import {attempt, note} from './dialog.js'
import {h} from './dom.js'
import {card, control, empty, heading, problem, shares, table} from './parts.js'

const load = async () => ({reply: await get('/v1/queues')})

function render({reply}) {
  return [
    heading('Queues', reply.paused
      ? control('Resume all', change('resume', {}, 'Everything is resumed'), {class: 'primary'})
      : control('Pause all', change('pause', {}, 'Everything is paused'))),
    reply.paused && problem('Everything is paused: no job is started until it is resumed.'),
    section('Queues', 'queue', reply.queues), section('Types', 'type', reply.types),
  ]
}

const change = (path, body, said) => () => attempt(async () => {
  await post(`/v1/${path}`, body)
  note(said)
  reload()
})

function section(title, kind, entries) {
  if (!entries.length) return card(title, null, empty(`No ${kind} has unfinished jobs, a limit or a pause.`))
  const rows = entries.map(entry => ({key: entry.name, cells: [
    h('span', null, h('a', {href: link('jobs', [], {[kind]: entry.name})}, entry.name), entry.paused && h('span.badge.state-held', null, 'paused')),
    shares(entry.jobs, `Jobs of ${entry.name}`),
    entry.concurrency === null ? h('span.none', null, 'none') : `${entry.jobs.running ?? 0} of ${entry.concurrency} run`,
    entry.paused
      ? control('Resume', change('resume', {[kind]: entry.name}, `${entry.name} is resumed`), {'aria-label': `Resume ${entry.name}`})
      : control('Pause', change('pause', {[kind]: entry.name}, `${entry.name} is paused`), {'aria-label': `Pause ${entry.name}`}),
  ]}))
  return card(title, null, table(title, [title.slice(0, -1), 'Unfinished jobs', 'Limit', {title: 'Change', class: 'actions'}], rows))
}

export default {load, render, wants: ['job', 'status', 'removed']}
