// The frame: navigation, theme, state of the daemon, and the view that the address names.

import {onMissingToken, whoAmI, get, Refusal} from './api.js'
import {connect, link, reload, route, session} from './app.js'
import {askForToken, note} from './dialog.js'
import {h, patch} from './dom.js'
import {count} from './format.js'
import {watch} from './live.js'
import {empty, heading, problem} from './parts.js'

/** The views of the navigation; each is loaded when it is first shown. */
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

const main = document.getElementById('main')
/** What is shown: the view's module, its place, its data, and what the reader has selected or opened there. */
let shown = null

// Views.

async function navigate() {
  const address = location.hash
  const place = route(address)
  main.setAttribute('aria-busy', 'true')
  const entry = VIEWS.find(view => view.name === place.view) ?? {title: 'Nothing', load: async () => nothing}
  const module = (await entry.load(place.parts)).default ?? nothing.default
  // Another view was asked for while the code of this one came.
  if (location.hash !== address) return
  const isSame = shown && shown.module === module && shown.place.parts.join('/') === place.parts.join('/')
  const before = shown
  shown = {module, place, entry, data: isSame ? shown.data : null, memory: isSame ? shown.memory : {}}
  before?.module.leave?.(before)
  drawNavigation()
  document.title = [...place.parts, entry.title, 'Bobbin'].join(' · ')
  if (!isSame && before) {
    main.replaceChildren(empty('Loading …'))
    scrollTo(0, 0)
    main.focus({preventScroll: true})
  }
  await show()
}

const nothing = {default: {load: async () => ({}), render: () => [heading('Nothing is here'), empty('The address names no view.')]}}

/** Loads the data of the view and draws it; what arrives when another view is shown is dropped. */
async function show() {
  const view = shown
  // Answers that take longer than the time between two changes would never be shown if each change began anew.
  if (view.isLoading) {
    view.isStale = true
    return
  }
  do {
    view.isLoading = true
    view.isStale = false
    try {
      view.data = await view.module.load(view.place, view.memory)
      view.failure = null
    } catch (error) {
      view.failure = error
    }
    view.isLoading = false
    if (view !== shown) return
    draw()
  } while (view.isStale)
}

function draw() {
  const {module, data, failure, place, memory, entry} = shown
  const next = h('main')
  if (failure) next.append(problem(failure.message, failure.hint && h('span.hint', null, failure.hint)))
  if (data) next.append(...[module.render(data, place, memory)].flat(Infinity).filter(Boolean))
  else if (failure) next.prepend(heading(entry.title))
  patch(main, next)
  main.setAttribute('aria-busy', 'false')
}

// The frame.

let overview = null
let quarantined = 0

function drawNavigation() {
  const items = VIEWS.filter(view => !view.needs || session[view.needs]).map(view => {
    const number = view.name === 'quarantine' ? quarantined : 0
    return h('li', null, h('a', {
      href: link(view.name), 'aria-current': shown?.entry.name === view.name ? 'page' : null,
    }, view.title, number > 0 && h('span.number', {'aria-label': `${count(number)} quarantined`}, count(number))))
  })
  patch(document.getElementById('views'), h('nav', null, h('ul', null, items)))
}

const STATE_WORDS = {
  running: ['good', 'running'], draining: ['warn', 'draining'], 'storage-full': ['bad', 'no room on disk'],
  'store-busy': ['warn', 'store is locked'],
}

async function drawState() {
  const place = document.getElementById('state')
  try {
    // The counts of final states in the overview begin with the daemon.
    const [status, jobs] = await Promise.all([get('/v1/status'), get('/v1/jobs', {state: 'quarantined', limit: 1})])
    overview = status
    quarantined = jobs.count
    const [mood, words] = STATE_WORDS[overview.state] ?? ['warn', overview.state]
    const isPaused = overview.pauses.some(pause => pause.kind === 'all')
    patch(place, h('p', null, h('span.dot', {class: isPaused ? 'warn' : mood}), isPaused ? 'paused' : words))
  } catch (error) {
    const text = error instanceof Refusal ? error.message : 'the daemon does not answer'
    patch(place, h('p', null, h('span.dot', {class: 'bad'}), text))
  }
  drawNavigation()
}

const LINK_WORDS = {
  live: 'live', looking: 'every 2 s', lost: 'no connection', asleep: 'asleep',
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
onMissingToken(askForToken)
connect(() => Promise.all([show(), drawState()]), () => shown?.data && draw())
addEventListener('hashchange', navigate)
document.querySelector('.skip').onclick = event => {
  event.preventDefault()
  main.focus()
}
try {
  Object.assign(session, await whoAmI())
} catch (error) {
  note(error.message, {isFailure: true, hint: error.hint})
}
await Promise.all([navigate(), drawState()])
// "3 s ago" grows old, whatever happens.
setInterval(() => { if (!document.hidden && shown?.data) draw() }, 10_000)
watch(changes => {
  const wanted = shown?.module.wants
  if (!wanted || changes.has('reset') || wanted.some(kind => changes.has(kind))) reload()
  else drawState()
}, drawLink)
