// When to ask the daemon again: never twice at once, and the later, the longer the last answer took and the more it was asked for.

import {requests} from './api.js'

/** The rest after an answer, in times of what it took: a page has the daemon work for it a fifth of the time at most. */
const REST = 4
/** The longest rest, in milliseconds. */
const LONGEST = 30_000
/** The time that each request is worth where changes do not end, and the most for all of one answer, in milliseconds. */
const PRICE = 1200
const DEAREST = 10_000
/** What may be owed of that, so that the first changes after a quiet time are shown at once, in milliseconds. */
const CREDIT = 2000

/**
 * Makes functions that have work done, one at a time.
 *
 * @param work what is done; it fails with nothing.
 * @param price the time that a request of it is worth.
 * @returns now() for what a reader waits for, which follows at once on what is under way; soon() for what has changed by itself,
 *   which waits for the end of the rest.
 */
export function paced(work, price = PRICE) {
  let atWork = null
  let timer = null
  let restUntil = 0
  let paidUntil = 0
  let isWanted = false
  let isStale = false

  async function repeat() {
    try {
      while (isWanted) {
        isWanted = isStale = false
        const start = performance.now()
        const before = requests
        await work()
        const end = performance.now()
        paidUntil = Math.min(Math.max(start, paidUntil) + price * (requests - before), end + DEAREST)
        restUntil = Math.max(end + Math.min(LONGEST, REST * (end - start)), paidUntil - CREDIT)
      }
    } finally {
      atWork = null
    }
    if (isStale) soon()
  }

  function now() {
    clearTimeout(timer)
    timer = null
    isWanted = true
    return atWork ??= repeat()
  }

  function soon() {
    isStale = true
    if (atWork || timer !== null) return
    timer = setTimeout(() => {
      timer = null
      // Whoever comes back to the tab asks for everything.
      if (!document.hidden) now()
    }, Math.max(0, restUntil - performance.now()))
  }

  return {now, soon}
}
