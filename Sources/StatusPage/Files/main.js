// The frame: navigation, theme, state of the daemon, and the view that the address names.

import {arrival, askAgain, get, NoAnswer, onMissingToken, Refusal, whoAmI} from './api.js'
import {connect, link, quarantine, reload, route, session} from './app.js'
import {askForToken} from './dialog.js'
import {h, patch} from './dom.js'
import {count} from './format.js'
import {takeGathered, watch} from './live.js'
import {paced} from './pace.js'
import {button, empty, heading, problem} from './parts.js'

/** The views of the navigation; the module of each is loaded when it is first shown. */
const VIEWS = [
  {name: 'overview', title: 'Overview', load: () => import('./overview.js')},
  {name: 'jobs', title: 'Jobs', load: parts => parts.length ? import('./job.js') : import('./jobs.js')},
  {name: 'batches', title: 'Batches', load: () => import('./batches.js')},
  {name: 'schedules', title: 'Schedules', load: () => import('./schedules.js')},
  {name: 'queues', title: 'Queues', load: () => import('./queues.js')},
  {name: 'objects', title: 'Objects', load: () => import('./objects.js')},
  {name: 'quarantine', title: 'Quarantine', load: () => import('./quarantine.js')},
  {name: 'submit', title: 'Submit', load: () => import('./submit.js'), needs: 'maySubmit'},
  {name: 'configuration', title: 'Configuration', load: () => import('./configuration.js')},
]
const NOTHING = {title: 'Nothing', load: async () => ({default: {
  load: async () => ({}), render: () => [heading('Nothing is here'), empty('The address names no view.')],
}})}

const main = document.getElementById('main')
/** What is shown: the view with its module, its place, its data, what the reader has selected or opened there, and its pace. */
let shown = null

// Views.

async function navigate() {
  const place = route(location.hash)
  main.setAttribute('aria-busy', 'true')
  const entry = VIEWS.find(view => view.name === place.view) ?? NOTHING
  const before = shown
  const isSame = before?.entry === entry && before.place.parts.join('/') === place.parts.join('/')
  const view = {entry, place, ...(isSame ? {module: before.module, data: before.data, memory: before.memory} : {module: null, data: null, memory: {}})}
  view.pace = paced(() => show(view))
  shown = view
  drawNavigation()
  document.title = [...place.parts, entry.title, 'Bobbin'].join(' · ')
  if (!isSame) showTab()
  if (!isSame && before) {
    main.replaceChildren(empty('Loading …'))
    scrollTo(0, 0)
    main.focus({preventScroll: true})
  }
  await view.pace.now()
  // What is shown then may need a scroll bar, which takes some of the width.
  if (!isSame && view === shown) showTab()
}

/** Brings the view's name into sight: on a narrow page the views are in a line that scrolls. */
function showTab() {
  const views = document.getElementById('views')
  const current = views.querySelector('[aria-current]')
  if (current) views.scrollLeft = current.offsetLeft - (views.clientWidth - current.offsetWidth) / 2
}

/** Loads the module of a view if it is not there yet, then its data, and draws it; what arrives when another one is shown is dropped. */
async function show(view) {
  if (view !== shown) return
  // The answer will be newer, if there is one.
  const gathered = takeGathered()
  const isNews = gathered.kinds.size > 0 && isToAsk(view, gathered)
  take(gathered)
  const heard = view.heard = []
  try {
    view.module ??= (await arrival(view.entry.load(view.place.parts))).default
    view.data = await view.module.load(view.place, view.memory, () => view === shown && !document.hidden)
    // The answer may be older than what was told meanwhile.
    for (const changes of heard) hear(view, changes)
    view.failure = null
  } catch (error) {
    view.failure = error
    if (isNews) view.pace.soon()
  }
  view.heard = null
  if (view !== shown) return
  draw()
  main.setAttribute('aria-busy', 'false')
}

/** Takes in what events have told. */
function take(changes) {
  const {kinds, jobs, status} = changes
  if (status) drawState(status)
  // A job may have come into quarantine, or, if there are any, have left it.
  const isCountOld = quarantine.count > 0 ? kinds.has('job') || kinds.has('removed') : [...jobs.values()].some(job => job.state === 'quarantined')
  if (!isStateKnown || kinds.has('reset') || isCountOld) state.soon()
  if (!shown) return
  shown.heard?.push(changes)
  hear(shown, changes)
}

/** Whether a view has to ask for what events do not tell. */
const isToAsk = ({module, data}, changes) => !module?.wants || changes.kinds.has('reset')
  || module.wants.some(kind => changes.kinds.has(kind)) && (!data || !module.concerns || module.concerns(data, changes))

/** Has a view take what events have told into its data. */
function hear(view, changes) {
  if (view.data && view.module?.hear) view.data = view.module.hear(view.data, changes)
}

function draw() {
  const {module, data, failure, place, memory, entry} = shown
  const next = h('main')
  if (failure && !data) next.append(heading(entry.title))
  if (failure) next.append(...trouble(failure, !data))
  if (data) next.append(...[module.render(data, place, memory)].flat(Infinity).filter(Boolean))
  patch(main, next)
}

/** Why a view does not show what is, and what the reader can do about that. */
function trouble(failure, isAll) {
  if (failure instanceof Refusal && failure.status === 401) {
    return [problem('The daemon tells nothing without a token. ', button('Enter a token', () => { askAgain(); reload() }))]
  }
  const hint = failure instanceof NoAnswer ? `${isAll ? '' : 'This is what it told last. '}The page goes on trying.` : failure.hint
  const message = failure instanceof NoAnswer ? 'The daemon does not answer.' : failure.message
  return [problem(message, hint && h('span.hint', null, hint)), isAll && button('Try again', shown.pace.now)].filter(Boolean)
}

// The frame.

/** True once the daemon has told what the reader may do; each new token may be another reader's. */
let isKnown = false

function drawNavigation() {
  const items = VIEWS.filter(view => !view.needs || session[view.needs]).map(view => {
    const number = view.name === 'quarantine' ? quarantine.count : 0
    return h('li', null, h('a', {
      href: link(view.name), 'aria-current': shown?.entry.name === view.name ? 'page' : null,
    }, view.title, number > 0 && h('span.number', {'aria-label': `${count(number)} quarantined`}, count(number))))
  })
  patch(document.getElementById('views'), h('nav', null, h('ul', null, items)))
}

const STATE_WORDS = {
  running: ['good', 'running'], draining: ['warn', 'draining'], 'storage-full': ['bad', 'no room on disk'],
  'store-busy': ['warn', 'store is locked'], 'database-away': ['bad', 'database is away'],
}

async function identify() {
  if (isKnown) return
  isKnown = true
  try {
    Object.assign(session, await whoAmI())
  } catch (error) {
    isKnown = false
    throw error
  }
}

/** Asks for what events do not tell, which is not much and in no hurry, and for the state in case there are none. */
const state = paced(askForState, 2500)
let isStateKnown = false

async function askForState() {
  try {
    // The counts of final states in the status begin with the daemon.
    const [status, jobs] = await Promise.all([get('/v1/status'), get('/v1/jobs', {state: 'quarantined', limit: 1}), identify()])
    Object.assign(quarantine, {count: jobs.count, atLeast: jobs.atLeast})
    isStateKnown = true
    drawState(status)
  } catch (error) {
    isStateKnown = false
    patch(document.getElementById('state'), h('p', null, h('span.dot', {class: 'bad'}), error.message))
  }
  drawNavigation()
  if (shown?.data) draw()
}

function drawState({state, pauses}) {
  const [mood, words] = STATE_WORDS[state] ?? ['warn', state]
  const isPaused = pauses.some(pause => pause.kind === 'all')
  patch(document.getElementById('state'), h('p', null, h('span.dot', {class: isPaused ? 'warn' : mood}), isPaused ? 'paused' : words))
}

const LINK_WORDS = {
  live: 'live', looking: 'every 2 s', refused: 'no access', lost: 'no connection', asleep: 'asleep',
}

function drawLink(state) {
  const place = document.getElementById('link')
  place.textContent = LINK_WORDS[state]
  place.dataset.state = state
}

// The theme.

const THEMES = ['auto', 'light', 'dark']

function drawTheme(theme) {
  const button = document.getElementById('theme')
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  button.textContent = {auto: '◐ Auto', light: '☀ Light', dark: '☾ Dark'}[theme]
  button.setAttribute('aria-label', `Theme: ${theme}. Change it`)
  button.onclick = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]
    remember(next)
    drawTheme(next)
  }
}

// A browser may forbid to keep anything; the choice holds for the page then.
function remember(theme) {
  try { localStorage.setItem('theme', theme) } catch { /* Nothing is lost but the choice. */ }
}

function remembered() {
  try { return THEMES.find(theme => theme === localStorage.getItem('theme')) ?? 'auto' } catch { return 'auto' }
}

// Start.

drawTheme(remembered())
onMissingToken(askForToken, () => {
  isKnown = false
  reload()
})
connect(() => Promise.all([shown?.pace.now(), state.now()]), () => shown?.data && draw())
addEventListener('hashchange', navigate)
document.querySelector('.skip').onclick = event => {
  event.preventDefault()
  main.focus()
}
// Who may only read is shown no buttons first.
await state.now()
await navigate()
// "3 s ago" grows old, whatever happens.
setInterval(() => { if (!document.hidden && shown?.data) draw() }, 10_000)
watch(changes => {
  // By what was known before.
  if (shown && isToAsk(shown, changes)) shown.pace.soon()
  take(changes)
  if (shown?.data && shown.module?.hear) draw()
}, drawLink)
