// Lines and small bars, drawn as SVG.

import {h, svg} from './dom.js'
import * as format from './format.js'

const WIDTH = 600
const HEIGHT = 120

/** The title of the plot that the pointer is at, and the moment in it; it stays there while the plot is drawn anew. */
let pointed = null

/**
 * A plot of values over time.
 *
 * @param title what is plotted.
 * @param times the moments in milliseconds, the oldest first.
 * @param series each {name, class, values}; a value of null is a gap.
 * @param unit says a value in words.
 * @param roundUp the next value that is round in that unit.
 */
export function plot({title, times, series, unit = format.short, roundUp = format.roundUp}) {
  const all = series.flatMap(one => one.values).filter(value => value !== null)
  if (times.length < 2 || !all.length) {
    return h('figure.plot', null, h('figcaption', null, title), h('p.empty', null, 'Nothing is known yet.'))
  }
  // The line in the middle is the one that has to be round: twice as much is round, too.
  const top = roundUp(Math.max(...all) / 2) * 2
  const [first, last] = [times[0], times.at(-1)]
  const moment = last - first > 86_000_000 ? format.dateTime : format.clockTime
  const x = time => (time - first) / (last - first || 1) * WIDTH
  const y = value => HEIGHT - value / top * HEIGHT
  const drawing = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': `${title}, ${describe(series, unit)}`,
  })
  for (const share of [0, 0.5, 1]) {
    drawing.append(svg('line.grid', {x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share}))
  }
  for (const one of series) {
    for (const run of runs(one.values)) {
      const points = run.map(index => `${x(times[index]).toFixed(1)},${y(one.values[index]).toFixed(1)}`)
      // A line to itself is a dot.
      const isDot = run.length === 1
      if (isDot) points.push(points[0])
      if (series.length === 1) {
        const [start, end] = [x(times[run[0]]).toFixed(1), x(times[run.at(-1)]).toFixed(1)]
        drawing.append(svg('path.area', {class: one.class, d: `M${start},${HEIGHT}L${points.join('L')}L${end},${HEIGHT}Z`}))
      }
      drawing.append(svg(isDot ? 'polyline.line.lone' : 'polyline.line', {class: one.class, points: points.join(' ')}))
    }
  }
  drawing.append(svg('line.cursor', {y1: 0, y2: HEIGHT}))
  const figure = h('figure.plot', null,
    h('figcaption', null, title, h('span.figures')),
    h('div.frame', {
      onpointermove: event => {
        const box = event.currentTarget.getBoundingClientRect()
        pointed = {title, time: first + (event.clientX - box.left) / box.width * (last - first)}
        point(event.currentTarget.closest('figure'))
      },
      onpointerleave: event => {
        pointed = null
        point(event.currentTarget.closest('figure'))
      },
    }, drawing, h('div.scale', {'aria-hidden': 'true'}, h('span', null, unit(top)), h('span', null, unit(top / 2)), h('span', null, '0'))),
    h('div.times', {'aria-hidden': 'true'}, h('span', null, moment(first)), h('span', null, moment(last))))
  point(figure)
  return figure

  // The handlers move to the plot that is shown already, so its parts are looked for there.
  function point(figure) {
    const index = pointed?.title === title ? nearest(times, pointed.time) : null
    const cursor = figure.querySelector('.cursor')
    cursor.toggleAttribute('hidden', index === null)
    if (index !== null) for (const end of ['x1', 'x2']) cursor.setAttribute(end, x(times[index]))
    figure.querySelector('.figures').replaceChildren(index === null ? latest(series, unit) : readout(index))
  }

  function readout(index) {
    const known = series.filter(one => one.values[index] !== null)
    const names = known.map(one => (series.length > 1 ? `${one.name} ` : '') + unit(one.values[index]))
    return `${moment(times[index])}: ${names.join(', ') || 'unknown'}`
  }
}

function latest(series, unit) {
  const parts = document.createDocumentFragment()
  for (const one of series) {
    const value = one.values.findLast(value => value !== null)
    parts.append(h('span.key', {class: one.class}, (series.length > 1 ? `${one.name} ` : '') + (value === undefined ? '–' : unit(value))))
  }
  return parts
}

const describe = (series, unit) => series.map(one => {
  const known = one.values.filter(value => value !== null)
  if (!known.length) return `${one.name} unknown`
  return `${one.name} now ${unit(known.at(-1))}, at most ${unit(Math.max(...known))}`
}).join('; ')

/** The stretches of indexes without a gap. */
function runs(values) {
  const found = []
  let run = []
  values.forEach((value, index) => {
    if (value !== null) return run.push(index)
    if (run.length) found.push(run)
    run = []
  })
  if (run.length) found.push(run)
  return found
}

function nearest(times, wanted) {
  let [low, high] = [0, times.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (times[middle] < wanted) low = middle
    else high = middle
  }
  return wanted - times[low] < times[high] - wanted ? low : high
}

/**
 * A history in small bars, the oldest first; each bar is a link if it has an address.
 *
 * @param bars each {height from 0 to 1, class, text, href}.
 */
export function bars(label, bars) {
  return h('ul.bars', {'aria-label': label}, bars.map(bar => {
    const fill = h('span', {class: bar.class})
    fill.style.height = `${Math.max(12, Math.round(bar.height * 100))}%`
    return h('li', null, h(bar.href ? 'a' : 'span', {href: bar.href, title: bar.text, role: bar.href ? null : 'img',
      'aria-label': bar.text}, fill))
  }))
}
