// What can be done to jobs: to some, or to all that match.

import {get, parse, pathOf, post} from './api.js'
import {mayChange, mayEdit, reload} from './app.js'
import {ask, attempt, note} from './dialog.js'
import {h} from './dom.js'
import {condition} from './filters.js'
import {count, plural} from './format.js'
import {button, jobLink, json, stateBadge, table, UNFINISHED} from './parts.js'

const AGAIN = ['completed', 'cancelled', 'discarded', 'scheduled', 'retryable']

/** Each command: its label, what its button says, the states for which it is meant, and what it does. */
const COMMANDS = {
  hold: {label: 'Hold', states: UNFINISHED.filter(state => state !== 'held'), text: 'They are put aside until they are released.'},
  release: {label: 'Release', states: ['held'], text: 'They go on.'},
  retry: {label: 'Retry', states: AGAIN, text: 'They run now, with as many attempts as new ones.'},
  redrive: {label: 'Redrive', states: ['quarantined'], text: 'They run again, although their processes crashed.'},
  priority: {label: 'Priority', states: UNFINISHED, text: 'Jobs of a higher priority start first.'},
  cancel: {
    label: 'Cancel', states: [...UNFINISHED, 'quarantined'], isDestructive: true,
    text: 'What runs is told to stop, and its effects are dropped. Jobs that need these are cancelled, too.',
  },
  delete: {
    label: 'Delete', states: ['completed', 'cancelled', 'discarded'], isDestructive: true,
    text: 'They are removed with their attempts, logs and rejects. What they have imported or written stays.',
  },
}

/**
 * The buttons for commands that make sense in one of these states; none for who may not change the jobs.
 *
 * @param target says what they are for, see perform.
 * @param done called when the daemon has carried a command out.
 * @param suffix what the labels say of how many jobs they are for.
 * @param submitter the user whose jobs all of them are, if they are one's.
 */
export function commandButtons(states, target, {done = () => {}, suffix = '', submitter = null} = {}) {
  if (!mayChange(submitter)) return []
  return Object.entries(COMMANDS)
    .filter(([, command]) => command.states.some(state => states.includes(state)))
    .map(([name, command]) => button(command.label + suffix, async () => { if (await perform(name, target())) done() }, {
      // The key keeps a button from becoming another command's under a finger or the focus.
      class: command.isDestructive ? 'danger-quiet' : null, 'data-key': name,
    }))
}

/** A button for a job that can still be told to do something else; null for any other, and for who may not say that. */
export const editButton = job => UNFINISHED.includes(job.state) && job.state !== 'running' && mayEdit(job.submitter)
  ? button('Edit', () => edit(job), {'data-key': 'edit'}) : null

/** Asks for other arguments, until the daemon takes them or the reader has enough. */
async function edit({id, arguments: given}) {
  const text = h('textarea', {id: 'arguments', rows: 14, spellcheck: 'false', required: true})
  let seen = given ?? {}
  const fill = () => { text.value = JSON.stringify(seen, null, 2) }
  fill()
  await ask({
    title: `Edit ${id}`, confirm: 'Save', dismiss: 'Back', isWide: true,
    content: [h('label.field', {for: 'arguments'}, h('span', null, 'Arguments, as JSON'), text)],
    act: async () => {
      try {
        await post(pathOf('jobs', id, 'edit'), {arguments: read(text.value), seen})
      } catch (error) {
        if (error.code !== 'changed') throw error
        // The next answer knows of the change: it is for the reader to take it, or to do without.
        seen = (await get(pathOf('jobs', id))).arguments ?? {}
        const take = event => {
          fill()
          event.target.closest('[role=alert]').replaceChildren()
          text.focus()
        }
        throw Object.assign(error, {
          hint: 'Its arguments are those below now. “Save” puts yours in their place.',
          more: [json(seen), h('div.buttons', null, button('Go on with these', take))],
        })
      }
      note(`${id} has other arguments now`)
      reload()
    },
  })
}

function read(text) {
  try {
    return parse(text)
  } catch (error) {
    throw new Error(`That is no JSON: ${error.message}`)
  }
}

/**
 * Asks, has the daemon carry a command out, and tells what became of each job.
 *
 * @param target {ids} for some jobs; {where, states} for all that match other filters in one of the states for which the
 *   command is meant. The daemon counts them first.
 * @returns true if it was carried out, whatever became of each.
 */
export async function perform(name, {ids = null, where = null, states = []}) {
  const command = COMMANDS[name]
  const meant = states.filter(state => command.states.includes(state))
  if (where) where = {...where, state: meant}
  const number = ids ? ids.length : await matching(name, where)
  if (number === 0) note('no job matches in a state for which that is meant')
  if (!number) return false
  const jobs = plural(number, 'job')
  const value = name === 'priority' ? h('input', {type: 'number', id: 'value', min: -100, max: 100, value: 0, required: true}) : null
  const reason = name === 'cancel' ? h('input', {type: 'text', id: 'reason', maxlength: 500}) : null
  const isMeant = await ask({
    title: `${command.label} ${ids ? '' : 'all '}${jobs}?`, confirm: `${command.label} ${jobs}`,
    dismiss: 'Back', isDangerous: command.isDestructive,
    content: [
      h('p', null, command.text),
      ids ? h('p.sample', null, ids.slice(0, 5).map(id => h('code', null, id)), ids.length > 5 && ` and ${count(ids.length - 5)} more`)
        : h('p.sample', null, 'Those that match: ', Object.entries(where).map(([key, text]) => [h('code', null, `${key}: ${[text].flat().join(', ')}`), ' ']),
          ' The number may have changed by the time it is done.'),
      value && h('label.field', {for: 'value'}, h('span', null, 'Priority, -100 to 100'), value),
      reason && h('label.field', {for: 'reason'}, h('span', null, 'Reason, which is kept with the jobs'), reason),
    ],
  })
  if (!isMeant) return false
  const body = {command: name}
  if (value) body.value = Number(value.value)
  if (reason?.value.trim()) body.reason = reason.value.trim()
  if (ids) body.jobs = ids
  else body.where = condition(where)
  const reply = await attempt(() => post('/v1/commands', body))
  if (!reply) return false
  reload()
  const failed = (reply.matched ?? reply.jobs.length) - reply.done
  note(`${command.label}: done for ${plural(reply.done, 'job')}${failed ? `, not for ${count(failed)}` : ''}`)
  // Of very many, the daemon tells of the first.
  if (failed) await showOutcome(command, reply.jobs ?? [])
  return true
}

/** The number of jobs for which a command would be tried; nothing if the daemon does not answer. */
async function matching(name, where) {
  const body = {command: name, where: condition(where), dryRun: true}
  if (name === 'priority') body.value = 0
  return (await attempt(() => post('/v1/commands', body)))?.matched
}

/** Tells what became of each job, the failures first. */
async function showOutcome(command, jobs) {
  const sorted = jobs.toSorted((a, b) => (a.result === 'done') - (b.result === 'done'))
  await ask({
    title: `${command.label}: what became of each`, dismiss: 'Close', isWide: true,
    content: [table('Outcomes', ['Job', 'Outcome'], sorted.map(job => ({key: job.id, cells: [jobLink(job.id), outcome(job)]})))],
  })
}

function outcome(job) {
  switch (job.result) {
    case 'done': return 'done'
    case 'not-yours': return `it belongs to user ${job.submitter ?? 'unknown'}`
    case 'not-found': return 'there is no such job any more'
    case 'reverting': return 'it is cancelled, and what it saved is still being reverted'
    case 'replacing': return 'a submission is about to replace it'
    case 'ambiguous': return `it may be one of ${(job.candidates ?? []).join(', ')}`
    case 'not-possible': return [
      'not possible ', job.state && ['while it is ', stateBadge(job.state)],
      job.uniqueOwner && [': its unique key is that of ', jobLink(job.uniqueOwner)],
      job.neededBy && [': it is needed by ', jobLink(job.neededBy)],
    ]
    default: return job.result
  }
}

