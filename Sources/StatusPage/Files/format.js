// Numbers, sizes and times as people read them.

const LANGUAGE = 'en-GB'
const whole = new Intl.NumberFormat(LANGUAGE)
const moment = new Intl.DateTimeFormat(LANGUAGE, {dateStyle: 'medium', timeStyle: 'medium'})
const clock = new Intl.DateTimeFormat(LANGUAGE, {timeStyle: 'medium'})

export const count = number => whole.format(number)

/** "1 job", "2 jobs". */
export const plural = (number, one, many = one + 's') => `${count(number)} ${number === 1 ? one : many}`

/** A number or what begins with one, which there may be more of. */
export const least = (text, isAtLeast) => isAtLeast ? `at least ${text}` : text

/** A number of three digits or so: 0.034, 1.2, 15, 12.3 k. */
export function short(number) {
  if (number >= 1e6) return `${figure(number / 1e6)} M`
  if (number >= 1e4) return `${figure(number / 1e3)} k`
  return figure(number)
}

function figure(number) {
  if (number === 0 || Number.isInteger(number)) return whole.format(number)
  const digits = number >= 100 ? 0 : number >= 10 ? 1 : number >= 1 ? 2 : 3
  return String(Number(number.toFixed(digits)))
}

export function bytes(number) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let unit = 0
  while (number >= 1024 && unit + 1 < units.length) {
    number /= 1024
    unit += 1
  }
  return `${unit === 0 ? count(number) : figure(number)} ${units[unit]}`
}

/** A duration in seconds: 120 ms, 3.4 s, 2 min 5 s, 3 h 10 min, 4 d 2 h. */
export function duration(seconds) {
  if (seconds < 0) seconds = 0
  if (seconds < 0.001) return seconds === 0 ? '< 1 ms' : `${Math.max(1, Math.round(seconds * 1e6))} µs`
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 60) return `${figure(Math.round(seconds * 10) / 10)} s`
  const rest = Math.round(seconds)
  if (rest < 3600) return pair(Math.floor(rest / 60), 'min', rest % 60, 's')
  if (rest < 86400) return pair(Math.floor(rest / 3600), 'h', Math.floor(rest % 3600 / 60), 'min')
  return pair(Math.floor(rest / 86400), 'd', Math.floor(rest % 86400 / 3600), 'h')
}

/** The parts into which clocks divide a day, in seconds. */
const CLOCK = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map(minutes => minutes * 60), ...[1, 2, 3, 6, 12].map(hours => hours * 3600)]
const DAY = 86_400

/** The next of 1, 2 and 5 and their tenfolds; a half if there is nothing. */
export function roundUp(number) {
  if (number <= 0) return 0.5
  const scale = 10 ** Math.floor(Math.log10(number))
  return [1, 2, 5, 10].find(step => step * scale >= number) * scale
}

/** The next duration that is round as people say it, in seconds: numbers are round by tens, hours and minutes are not. */
export function roundUpDuration(seconds) {
  if (seconds <= 1) return roundUp(seconds)
  return CLOCK.find(part => part >= seconds) ?? roundUp(seconds / DAY) * DAY
}

const pair = (first, unit, second, other) => second ? `${first} ${unit} ${second} ${other}` : `${first} ${unit}`

/** The seconds from one time to another, or to now. */
export const secondsBetween = (from, to) => ((to ? Date.parse(to) : Date.now()) - Date.parse(from)) / 1000

/** "3 s ago", "in 2 min". */
export function relative(time) {
  const seconds = secondsBetween(time)
  if (Math.abs(seconds) < 1) return 'now'
  return seconds > 0 ? `${coarse(seconds)} ago` : `in ${coarse(-seconds)}`
}

function coarse(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86400)} d`
}

export const dateTime = time => moment.format(typeof time === 'string' ? Date.parse(time) : time)
export const clockTime = time => clock.format(time)

/** The last part of a path. */
export const baseName = path => path.slice(path.lastIndexOf('/') + 1)
