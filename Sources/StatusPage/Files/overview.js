// Overview: how the daemon is, over time and now.

import {find, get, post} from './api.js'
import {link, quarantine, reload} from './app.js'
import {plot} from './charts.js'
import {attempt} from './dialog.js'
import {h} from './dom.js'
import * as format from './format.js'
import {card, control, empty, facts, FINAL, heading, jobCell, named, outcome, problem, table, UNFINISHED, updated} from './parts.js'
import {history, SPANS} from './samples.js'

/** The most running jobs that are shown. */
const PAGE = 50

/** True of a host of a fleet, whose store has a URL; that of any other daemon has a path. */
const isInFleet = status => status.store.includes('://')

async function load({parameters}) {
  const span = SPANS[parameters.span] ? parameters.span : 'hour'
  const [status, running] = await Promise.all([get('/v1/status'), get('/v1/jobs', {state: 'running', limit: PAGE})])
  const [fleet, samples] = await Promise.all([isInFleet(status) ? find('/v1/fleet') : null, history(span, status)])
  return {status, running: running.jobs, fleet, span, samples}
}

/** What events tell: a part of the status, and jobs that run or don't any more. */
function hear(data, {jobs, status}) {
  const others = [...jobs.values()].filter(job => !data.running.some(one => one.id === job.id))
  const running = [...others, ...updated(data.running, {jobs})].filter(job => job.state === 'running').slice(0, PAGE)
  return {...data, running, status: {...data.status, ...status}}
}

function render({status, running, fleet, span, samples}) {
  return [
    heading('Overview', ...pauseButtons(status)),
    troubles(status),
    states(status),
    samples.isKept && spans(span),
    h('div.plots', null, plots(samples)),
    h('div.columns', null, workers(status, running), writer(status, samples), fleet && hosts(fleet), service(status)),
  ]
}

const spans = chosen => h('nav.tabs', {'aria-label': 'Span of the plots'}, h('ul', null, Object.keys(SPANS).map(span => h('li', null,
  h('a', {href: link('overview', [], {span}), 'aria-current': span === chosen ? 'true' : null}, `Last ${span}`)))))

const isPaused = status => status.pauses.some(pause => pause.kind === 'all')

function pauseButtons(status) {
  const change = path => () => attempt(async () => { await post(path); reload() })
  return [isPaused(status)
    ? control('Resume all', change('/v1/resume'), {class: 'primary'})
    : control('Pause all', change('/v1/pause'))]
}

/** What an operator should know first. */
function troubles(status) {
  const found = []
  if (status.state === 'storage-full') found.push('The disk is full: nothing is accepted until there is room, and nothing is lost.')
  if (status.state === 'store-busy') found.push('Another program keeps the store locked: nothing is accepted until it ends its transaction.')
  const reason = status.databaseAwayReason ? ` (${status.databaseAwayReason})` : ''
  if (status.state === 'database-away') found.push(`The fleet's database has not answered since ${status.databaseAwaySince}${reason}: files in new/ wait, and running jobs go on.`)
  if (status.writer.lastError) found.push(`The last flush failed: ${status.writer.lastError}`)
  for (const held of status.heldTypes ?? []) found.push(`Jobs of the type ${held.type} are held: ${held.reason}`)
  const short = status.shortage
  if (short) found.push(`${short.jobs === 1 ? 'A job is' : `${short.jobs} jobs are`} tried again until this is mended: ${short.reason}`)
  for (const mistake of status.refusedConfiguration ?? []) found.push(`The new configuration was refused, an earlier one is in force: ${mistake}`)
  for (const reason of status.untakenModels ?? []) found.push(`The models were not taken: ${reason}`)
  if (status.copy?.problem) found.push(`The copy of the store could not be made: ${status.copy.problem}`)
  for (const name of status.hotFolders?.troubled ?? []) found.push(`The hot folder ${name} has a problem; the schedules' view tells which.`)
  const pauses = status.pauses.map(pause => pause.kind === 'all' ? 'everything' : `the ${pause.kind} ${pause.name}`)
  if (pauses.length) found.push(`Paused: ${pauses.join(', ')}.`)
  return found.map(text => problem(text))
}

function states({jobs}) {
  const tiles = (title, states, number) => h('section', {'aria-label': `Jobs: ${title}`}, h('h2.tiles-title', null, title),
    h('div.tiles', null, states.map(state => h('a.tile', {href: link('jobs', [], {state}), class: `state-${state}`},
      h('span.value', null, number(state)), ' ', h('span.name', null, state)))))
  const told = state => format.short(jobs[state] ?? 0)
  // The daemon counts ends from its start on; the lists behind these tiles have those before it, too. Jobs in quarantine
  // wait for somebody, since whenever: all of them count, as in the navigation.
  return h('div.states', null, tiles('Unfinished', UNFINISHED, told),
    tiles('Ended since the start', FINAL.filter(state => state !== 'quarantined'), told),
    tiles('In quarantine', ['quarantined'], () => [quarantine.atLeast && h('abbr', {title: 'at least'}, '≥ '), format.short(quarantine.count)]))
}

function plots(samples) {
  const {times} = samples
  const per = number => `${format.short(number)}/s`
  return [
    plot({title: 'Throughput', times, unit: per, series: [
      {name: 'completed', class: 'state-completed', values: samples.completed}, {name: 'cancelled', class: 'state-cancelled', values: samples.cancelled},
      {name: 'failed', class: 'state-discarded', values: samples.failed},
    ]}),
    samples.waiting.some(value => value !== null) && plot({title: 'Waiting time', times, unit: format.duration, roundUp: format.roundUpDuration, series: [
      {name: 'half wait less than', class: 'state-scheduled', values: samples.waiting}, {name: '95 % less than', class: 'state-retryable', values: samples.longWaiting},
    ]}),
    plot({title: 'Queue depth', times, unit: format.short, series: [{name: 'depth', class: 'state-running', values: samples.depth}]}),
  ]
}

function workers(status, running) {
  const {busy, count, abandoned} = status.workers
  const rows = running.map(job => ({key: job.id, cells: [
    jobCell(job), outcome(job), format.duration(format.secondsBetween(job.startedAt ?? job.createdAt)),
  ]}))
  return card('Workers', {class: 'span-2'},
    h('p.lead', null, `${format.count(busy)} of ${format.plural(count, 'worker')} busy`,
      abandoned > 0 && h('span.warning', null, ` · ${format.plural(abandoned, 'abandoned handler')} still at work`)),
    h('meter', {max: count, value: busy, 'aria-label': 'Busy workers'}),
    rows.length
      ? table('Running jobs', [{title: 'Job', class: 'job'}, {title: 'Progress', class: 'outcome'}, {title: 'For', class: 'number when'}], rows, 'jobs')
      : empty('No job is running.'),
    busy > rows.length && rows.length > 0 && h('p.after', null, h('a', {href: link('jobs', [], {state: 'running'})}, 'All running jobs')))
}

function writer(status, samples) {
  const {writer, main} = status
  return card('Disk', null, facts([
    ['Oldest unflushed change', writer.oldestUnflushedSeconds === null ? 'none' : format.duration(writer.oldestUnflushedSeconds)],
    ['Unflushed', `${format.plural(writer.unflushedObjects, 'object')}, ${format.bytes(writer.unflushedBytes)}`],
    ['Computed, not on disk yet', format.plural(status.jobs.computed ?? 0, 'job')],
    ['Flushes', `${format.count(writer.flushes)}${writer.lastFlushSeconds === null ? '' : `, the last took ${format.duration(writer.lastFlushSeconds)}`}`],
    ['Main occupied', `${format.duration(main.p99Seconds)} (99th percentile)`],
    ['Free', samples.diskFree === null ? null : format.bytes(samples.diskFree)],
    ['Copy', status.copy ? `${status.copy.path}${status.copy.behind ? ', behind' : ''}` : null],
  ]), control('Flush now', () => attempt(async () => { await post('/v1/flush'); reload() })))
}

const service = status => card('Service', null, facts([
  ['Version', status.version],
  ['Up for', format.duration(status.uptimeSeconds)],
  ['Process', status.pid],
  ['Started', h('time', {datetime: status.startedAt}, format.dateTime(status.startedAt))],
  ['Spool', h('code', null, status.spool)],
  ['Store', h('code', null, status.store)],
  ['Refused files', format.count(status.refusedFiles)],
]))

function hosts(fleet) {
  const act = (path, host) => () => attempt(async () => { await post(`/v1/fleet/${path}`, {host: String(host.number)}); reload() })
  const rows = fleet.hosts.map(host => ({key: host.number, cells: [
    named(host.spool.split(':')[0], host.isLead && h('span.badge', {class: 'accent'}, 'lead'),
      !host.isAlive && h('span.badge', {class: 'state-discarded'}, 'gone'), host.isDrained && h('span.badge', {class: 'state-held'}, 'drained')),
    `${host.running} of ${host.slots}`, named(host.places.join(', ') || '–'), format.duration(host.silenceSeconds),
    host.isDrained ? control('Undrain', act('undrain', host), {'aria-label': `Undrain the host ${host.spool}`}) : control('Drain', act('drain', host), {'aria-label': `Drain the host ${host.spool}`}),
  ]}))
  return card('Hosts of the fleet', {class: 'span-2'},
    table('Hosts of the fleet', [{title: 'Host', class: 'name'}, {title: 'Running', class: 'number'}, 'Places', {title: 'Silent for', class: 'number'}, {title: 'Change', class: 'actions'}], rows),
    fleet.unmet.map(need => problem(`${format.plural(need.jobs, 'job')} of the type ${need.type}: ${need.reason}`)))
}

export default {load, render, hear, wants: ['job', 'status', 'removed']}
