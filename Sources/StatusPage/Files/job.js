// One job's story: what it was asked, how each attempt went, what came of it, and whom it waits for.

import {find, get, pathOf} from './api.js'
import {commandButtons, editButton} from './actions.js'
import {link, reload} from './app.js'
import {h} from './dom.js'
import * as format from './format.js'
import {graph, relatives} from './graph.js'
import {button, card, empty, facts, FINAL, heading, json, problem, progress, stateBadge, table, time, UNFINISHED} from './parts.js'
import {keptPictures, pictureCard} from './pictures.js'

const REJECTS = 100
const MOST_REJECTS = 10_000

async function load({parts: [id]}, memory) {
  const job = await get(pathOf('jobs', id))
  const [why, attempts, rejects, kin, kept] = await Promise.all([
    UNFINISHED.includes(job.state) && job.state !== 'running' ? find(pathOf('jobs', job.id, 'why')) : null,
    get(pathOf('jobs', job.id, 'attempts')),
    job.rejects > 0 ? rejectsOf(job, memory) : null,
    relatives(job),
    keptPictures(job),
  ])
  return {job, why, attempts: attempts.attempts, rejects, kin, kept}
}

/** The rejects, or null for who may see jobs but not what is in their tables. */
const rejectsOf = (job, memory) => get(pathOf('jobs', job.id, 'rejects'), {limit: memory.rejects ?? REJECTS})
  .catch(error => { if (error.status === 403) return null; else throw error })

/** What an error says of the log, which is shown in full. */
const LOG_END = '; its log ends: '

/** The attempts, with errors that are said nowhere else: the last one stands at the top of the page. */
function untold(attempts, job) {
  const last = job.error ? attempts.findLast(attempt => attempt.error === job.error) : null
  return attempts.map(attempt => ({...attempt,
    error: attempt === last ? null : attempt.log || attempt.evidence?.logTail ? attempt.error?.split(LOG_END)[0] : attempt.error}))
}

function render({job, why, attempts, rejects, kin, kept}, _, memory) {
  const told = untold(attempts, job)
  const haveLogs = attempts.some(attempt => attempt.log || attempt.evidence)
  return [
    heading(h('span', null, h('span.mono', null, job.id), ' ', stateBadge(job.state)),
      editButton(job), ...commandButtons([job.state], () => ({ids: [job.id]}), {submitter: job.submitter})),
    job.ending && problem(`It was told to stop: ${job.ending}`),
    // The reason for which a job waits may be its error, with what follows from it.
    job.error && !why?.reasons.some(reason => reason.includes(job.error)) && problem(job.error),
    why?.reasons.map(reason => job.error && reason.includes(job.error) ? problem(reason) : h('p.reason', null, reason)),
    job.state === 'running' && progress(job),
    (kin.nodes.length > 1 || kin.mayHaveMore) && card('Waits for, and is waited for', null, graph(kin, job.id)),
    h('div.columns', null, about(job), card('Timeline', null, timeline(job, told, !haveLogs))),
    pictureCard(kept),
    haveLogs && card('Log', null, told.map(log)),
    h('div.columns', null,
      card('Arguments', null, json(job.arguments ?? {}), job.options && [h('h3', null, 'Options'), json(job.options)]),
      job.result !== null && job.result !== undefined && card('Result', null, json(job.result))),
    rejects && card(`Rejects: ${format.count(rejects.found)}`, null, rejectTable(job, rejects, memory)),
    job.earlierRuns?.length > 0 && card('Earlier runs', null, earlierRuns(job.earlierRuns)),
  ]
}

const about = job => card('About', null, facts([
  ['Type', h('a', {href: link('jobs', [], {type: job.type})}, job.type)],
  ['Queue', h('a', {href: link('jobs', [], {queue: job.queue})}, job.queue)],
  ['Batch', job.batch && h('a', {href: link('batches', [job.batch])}, job.batch)],
  ['Priority', job.priority],
  ['Attempt', job.attempt ? `${job.attempt} of ${job.maxAttempts}` : `none yet of ${job.maxAttempts}`],
  ['Submitted by', h('a', {href: link('jobs', [], {submitter: job.submitter})}, `user ${job.submitter}`)],
  ['Job file', job.file && h('code', null, job.file)],
  // A job that is not over is not lost, whatever of it is on disk.
  ['On disk', FINAL.includes(job.state) ? job.durable ? 'yes' : 'not yet' : null],
  ['Host', job.host],
  ['Trace', job.traceparent && h('code', null, job.traceparent)],
]))

/** What happened when, the first thing first; with the errors of attempts where no log tells them. */
function timeline(job, attempts, tellsErrors) {
  const events = [{at: job.createdAt, text: 'accepted', class: 'state-available'}]
  for (const attempt of attempts) {
    // When it began follows from how long it took.
    events.push(attempt.finishedAt ? {
      at: attempt.finishedAt, class: `state-${attempt.outcome}`, more: tellsErrors && attempt.error,
      text: `attempt ${attempt.number}: ${attempt.outcome} after ${format.duration(format.secondsBetween(attempt.startedAt, attempt.finishedAt))}`,
    } : {at: attempt.startedAt, text: `attempt ${attempt.number} began`, class: 'state-running'})
  }
  const isTold = attempts.some(attempt => attempt.number === job.attempt)
  if (job.startedAt && !isTold) events.push({at: job.startedAt, text: `attempt ${job.attempt} began`, class: 'state-running'})
  if (job.finishedAt && !(isTold && attempts.at(-1).finishedAt)) {
    const took = job.startedAt ? ` after ${format.duration(format.secondsBetween(job.startedAt, job.finishedAt))}` : ''
    events.push({at: job.finishedAt, text: job.state + took, class: `state-${job.state}`})
  }
  if (job.notBefore && ['scheduled', 'retryable'].includes(job.state)) {
    events.push({at: job.notBefore, text: 'is due', class: 'state-scheduled'})
  }
  return h('ol.timeline', null, events.map(event => h('li', {class: event.class},
    h('span.event', null, event.text), event.more && h('span.error-text', null, event.more),
    event.at && h('span.when', null, h('time', {datetime: event.at}, format.dateTime(event.at)), ' · ', time(event.at)))))
}

function log(attempt) {
  const {evidence} = attempt
  return h('details', {open: true, 'data-key': `log-${attempt.number}`},
    h('summary', null, `Attempt ${attempt.number}, ${attempt.outcome}`), attempt.error && h('p.error-text', null, attempt.error),
    attempt.log ? h('pre.log', {tabindex: 0}, attempt.log) : empty('It wrote nothing.'),
    // The tail of the log is shown for those without one.
    evidence && evidenceFacts(attempt.log ? {...evidence, logTail: null} : evidence))
}

/** What a crash has left. */
export const evidenceFacts = evidence => [
  facts([
    ['Signal', evidence.signal], ['Exit status', evidence.exitStatus],
    ['Processor time', evidence.userSeconds !== undefined
      ? `${format.duration(evidence.userSeconds)} user, ${format.duration(evidence.systemSeconds ?? 0)} system` : null],
    ['Most memory', evidence.maximumResidentBytes !== undefined ? format.bytes(evidence.maximumResidentBytes) : null],
  ]),
  evidence.logTail && h('pre.log', {tabindex: 0}, evidence.logTail),
]

function rejectTable({id}, rejects, memory) {
  const rows = rejects.rejects.map(reject => ({key: reject.byteOffset, cells: [
    format.count(reject.line), reject.column ?? '–', reject.rule, reject.message, h('code.raw', null, reject.raw),
  ]}))
  return [
    rejects.header && h('p', null, 'Columns: ', h('code', null, rejects.header)),
    table('Rejected records', [{title: 'Line', class: 'number'}, 'Column', 'Rule', 'Reason', 'Record'], rows),
    rejects.next !== null && (rejects.rejects.length < MOST_REJECTS
      ? h('p', null, button('Show more', () => {
        memory.rejects = Math.min(MOST_REJECTS, (memory.rejects ?? REJECTS) * 10)
        reload()
      }))
      : h('p.hint', null, `These are the first ${format.count(MOST_REJECTS)}; `, h('code', null, `bobbinctl rejects ${id}`), ' has all of them.')),
    rejects.total < rejects.found && h('p.hint', null, `The first ${format.count(rejects.total)} are kept.`),
  ]
}

const earlierRuns = runs => table('Earlier runs', ['State', 'Began', 'Ended', 'Error'], runs.map(run => ({
  key: run.attempt, cells: [stateBadge(run.state), time(run.startedAt), time(run.finishedAt), run.error ?? '–'],
})))

/** What an event tells: all but what lists leave out, such as a long result. */
function hear(data, {jobs}) {
  const told = jobs.get(data.job.id)
  if (!told) return data
  return {...data, job: {...data.job, ...told, result: FINAL.includes(told.state) ? told.result ?? data.job.result : told.result}, why: told.state === data.job.state ? data.why : null}
}

/** True if a job that has changed may matter to this one: any may be what it waits for, but once it is over only its kin. */
const concerns = ({job, kin}, {kinds, jobs}) =>
  !FINAL.includes(job.state) || kinds.has('removed') || kin.nodes.some(node => jobs.has(node.id))

export default {load, render, hear, concerns, wants: ['job', 'progress', 'removed']}
