// What views share: the address, who looks, and how to be drawn again.

import {address} from './api.js'

/** Who looks; set before the first view is shown. */
export const session = {user: null, maySubmit: false, mayControl: false, changes: 'none', edits: 'none'}

/** How many jobs are in quarantine, as far as they could be counted; set like that, and whenever it may have changed. */
export const quarantine = {count: 0, atLeast: false}

const concerns = (whose, submitter) => whose === 'all' || whose === 'own' && (submitter === null || submitter === session.user)

/** Whether jobs of a user may be changed; without one, whether those of any user may be. */
export const mayChange = (submitter = null) => concerns(session.changes, submitter)

/** Whether jobs of a user may be told to do something else. */
export const mayEdit = submitter => concerns(session.edits, submitter)

const hooks = {reload: () => {}, redraw: () => {}}

export function connect(reload, redraw) { Object.assign(hooks, {reload, redraw}) }

/** Loads the view's data again and shows them. */
export const reload = () => hooks.reload()

/** Shows what is loaded again, after a change of what is selected or open. */
export const redraw = () => hooks.redraw()

/** The address of a view: link('jobs', [id], {state: 'running'}). */
export const link = (view, parts = [], parameters = {}) =>
  address('#/' + [view, ...parts].map(encodeURIComponent).join('/'), parameters)

/** The view, its parts and its parameters in an address. */
export function route(hash) {
  const [path, query = ''] = hash.replace(/^#?\/?/, '').split('?')
  const [view, ...parts] = path.split('/').map(part => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
  return {view: view || 'overview', parts: parts.filter(Boolean), parameters: Object.fromEntries(new URLSearchParams(query))}
}

/** Goes to another address; one that only filters otherwise can take the place of the present one. */
export function go(to, {replace = false} = {}) {
  if (replace) location.replace(to)
  else location.hash = to
}
