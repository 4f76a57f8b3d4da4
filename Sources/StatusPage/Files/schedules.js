// Schedules with their history, and hot folders.

import {get, pathOf, post} from './api.js'
import {link, reload} from './app.js'
import {bars} from './charts.js'
import {attempt, note} from './dialog.js'
import {h} from './dom.js'
import * as format from './format.js'
import {control, empty, heading, jobLink, named, problem, STATES, table, tally, time} from './parts.js'

async function load() {
  const [schedules, folders] = await Promise.all([get('/v1/schedules'), get('/v1/folders')])
  return {schedules: schedules.schedules, folders: folders.folders}
}

const render = ({schedules, folders}) => [
  heading('Schedules'),
  schedules.length ? scheduleTable(schedules)
    : empty('There are no schedules. A file in ', h('code', null, 'schedules.d'), ' makes one.'),
  h('h2.section', null, 'Hot folders'),
  folders.length ? folderTable(folders)
    : empty('There are no hot folders. A file in ', h('code', null, 'folders.d'), ' makes one.'),
]

const change = (name, action, said) => () => attempt(async () => {
  const reply = await post(pathOf('schedules', name, action))
  note(reply.firing ? `${name} has fired: ${reply.firing}` : said)
  reload()
})

function scheduleTable(schedules) {
  const rows = schedules.map(schedule => ({key: schedule.name, cells: [
    h('div', null, named(schedule.name, schedule.isPaused && h('span.badge.state-held', null, 'paused')), rule(schedule)),
    schedule.next ? time(schedule.next) : h('span.none', null, schedule.isPaused ? 'paused' : 'never again'),
    history(schedule),
    h('div', null, time(schedule.last), schedule.last && h('div.figures', null, tally(schedule.jobs)),
      schedule.refusal && h('span.error-text', null, `refused: ${schedule.refusal}`)),
    h('span.row-buttons', null,
      control('Run', change(schedule.name, 'run'), {'aria-label': `Run ${schedule.name} now`}),
      schedule.isPaused
        ? control('Resume', change(schedule.name, 'resume', `${schedule.name} is resumed`), {'aria-label': `Resume ${schedule.name}`})
        : control('Pause', change(schedule.name, 'pause', `${schedule.name} is paused`), {'aria-label': `Pause ${schedule.name}`})),
  ]}))
  return table('Schedules', [{title: 'Schedule', class: 'name'}, 'Next', 'History', 'Last', {title: 'Change', class: 'actions'}], rows)
}

/** When a schedule fires and what then; a daemon of an older release does not tell. */
const rule = ({moments, jobFile, overlap}) => h('div.rule', null, moments,
  jobFile && h('span.hint', null, h('code', null, jobFile)), overlap && h('span.hint', null, `overlap: ${overlap}`))

/** A bar for each firing: how long its jobs took, and how they ended. */
function history(schedule) {
  const firings = schedule.history ?? []
  if (!firings.length) return h('span.none', null, 'none yet')
  const longest = Math.max(...firings.map(firing => firing.seconds ?? 0), 0.001)
  return bars(`History of ${schedule.name}`, firings.map(firing => {
    const worst = ['quarantined', 'discarded', 'cancelled', 'running', 'retryable', 'waiting', 'available', 'scheduled', 'held']
      .find(state => firing.jobs[state]) ?? 'completed'
    const hasJobs = STATES.some(state => firing.jobs[state])
    const took = firing.seconds === null ? '' : `, took ${format.duration(firing.seconds)}`
    return {
      height: (firing.seconds ?? longest) / longest, class: `state-${worst}`, href: link('jobs', [], {text: firing.id}),
      text: `${format.dateTime(firing.time)}: ${hasJobs ? tally(firing.jobs) : 'its jobs are removed'}${took}`,
    }
  }))
}

function folderTable(folders) {
  const rows = folders.map(folder => {
    const {waiting, underWay, submitted, completed, failed} = folder.files
    return {key: folder.name, cells: [
      named(folder.name, h('span.badge', {class: folder.problem ? 'state-discarded' : 'state-completed'}, folder.state)),
      h('div.path', null, h('code', null, folder.path), folder.patterns.length > 0 && ` ${folder.patterns.join(' ')}`,
        folder.problem && problem(folder.problem), folder.refusal && h('span.error-text', null, folder.refusal)),
      h('div', null, `${format.count(waiting)} waiting, ${format.count(underWay)} under way, `,
        `${format.count(completed)} of ${format.count(submitted)} completed`, failed > 0 && h('strong.error-text', null, `${format.count(failed)} failed`)),
      folder.last ? h('div', null, jobLink(folder.last.job, folder.last.path), h('div.figures', null, time(folder.last.time))) : h('span.none', null, '–'),
    ]}
  })
  return table('Hot folders', [{title: 'Folder', class: 'name'}, {title: 'Path', class: 'broad'}, 'Files', 'Last file'], rows)
}

export default {load, render, wants: ['job', 'status']}
