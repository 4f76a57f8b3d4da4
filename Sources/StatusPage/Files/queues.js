// Queues and types: what waits in them, their limits and pauses.

import {get, post} from './api.js'
import {link, reload} from './app.js'
import {attempt, note} from './dialog.js'
import {h} from './dom.js'
import {control, empty, heading, named, problem, shares, table} from './parts.js'

async function load() {
  const [reply, {sections}] = await Promise.all([get('/v1/queues'), get('/v1/configuration')])
  // The sections of queues and types are called "Queue mail" and "Type import"; the daemon's reply has no rates.
  const rates = new Map(sections.map(({name, settings}) => [name, settings.find(setting => setting.key === 'RateLimit')?.value]))
  return {reply, rates}
}

function render({reply, rates}) {
  return [
    heading('Queues', reply.paused
      ? control('Resume all', change('resume', {}, 'Everything is resumed'), {class: 'primary'})
      : control('Pause all', change('pause', {}, 'Everything is paused'))),
    reply.paused && problem('Everything is paused: no job is started until it is resumed.'),
    section('Queues', 'queue', reply.queues, rates), h('h2.section', null, 'Types'), section('Types', 'type', reply.types, rates),
  ]
}

const change = (path, body, said) => () => attempt(async () => {
  await post(`/v1/${path}`, body)
  note(said)
  reload()
})

/** What bounds how many jobs run, and how many start; the latter as this host is configured. */
function limit(entry, rate) {
  const limits = [entry.concurrency !== null && `${entry.jobs.running ?? 0} of ${entry.concurrency} run`,
    rate && rate !== 'infinity' && `at most ${rate.replace(/\/1(?=\D)/, '/')}`].filter(Boolean)
  return limits.join(', ') || h('span.none', null, 'none')
}

function section(title, kind, entries, rates) {
  if (!entries.length) return empty(`No ${kind} has unfinished jobs, a limit or a pause.`)
  const rows = entries.map(entry => ({key: entry.name, cells: [
    named(h('a', {href: link('jobs', [], {[kind]: entry.name})}, entry.name), entry.paused && h('span.badge.state-held', null, 'paused')),
    shares(entry.jobs, {of: entry.name}),
    limit(entry, rates.get(`${title.slice(0, -1)} ${entry.name}`)),
    entry.paused
      ? control('Resume', change('resume', {[kind]: entry.name}, `${entry.name} is resumed`), {'aria-label': `Resume ${entry.name}`})
      : control('Pause', change('pause', {[kind]: entry.name}, `${entry.name} is paused`), {'aria-label': `Pause ${entry.name}`}),
  ]}))
  return table(title, [{title: title.slice(0, -1), class: 'name'}, {title: 'Unfinished jobs', class: 'broad'},
    {title: 'Limit', class: 'number'}, {title: 'Change', class: 'actions'}], rows)
}

export default {load, render, wants: ['job', 'status', 'removed']}
