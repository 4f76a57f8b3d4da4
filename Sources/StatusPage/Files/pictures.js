// Pictures that jobs have kept in the store, as thumbnails.

import {find, pathOf, Refusal, send} from './api.js'
import {redraw} from './app.js'
import {h} from './dom.js'
import * as format from './format.js'
import {button, card, problem} from './parts.js'

/** The addresses of pictures that were loaded, so that a change does not load them again. */
const loaded = new Map()
const LIMIT = 60
/** The largest picture that is loaded for a thumbnail without being asked for, in bytes. */
const SMALL = 512 << 10
/** The most pictures of a job that are shown. */
const MOST = 24

/** Finds the pictures that a job has kept, which its result names; {pictures, failure}. */
export async function keptPictures(job) {
  const outputs = job.type === 'image.encode' && job.result?.outputs
  const kept = (outputs || []).map(output => output.object).filter(Boolean)
  try {
    const found = await Promise.all(kept.slice(0, MOST).map(({entity, id}) => find(pathOf('objects', entity, id), {expand: 'blob'})))
    const pictures = found.filter(Boolean).map(({id, values}) => ({id, ...values, data: values.blob?.values?.data}))
    return {pictures: pictures.filter(picture => picture.data), failure: null}
  } catch (error) {
    // Who may see jobs may not see what is in the store; the rest of the job is still for them.
    if (error instanceof Refusal) return {pictures: [], failure: error}
    throw error
  }
}

/** A card with pictures; null without any. */
export function pictureCard({pictures, failure}) {
  if (failure) return card('Pictures', null, problem(`They can’t be shown: ${failure.message}`, failure.hint && h('span.hint', null, failure.hint)))
  if (!pictures.length) return null
  return card('Pictures', null, h('ul.thumbnails', null, pictures.map(picture => h('li', {'data-key': picture.id},
    thumbnail(picture.data, picture.title || `Picture ${picture.id}`),
    h('span', null, `${picture.title ? `${picture.title} · ` : ''}${picture.width} × ${picture.height}`)))))
}

/** An image that is loaded with the token, which its own address could not carry; a button that loads it if it is large. */
export function thumbnail({href, bytes}, title) {
  if (bytes > SMALL && !loaded.has(href)) {
    return button(`Show ${format.bytes(bytes)}`, () => { load(href); redraw() }, {class: 'thumbnail', 'aria-label': `Show ${title}, ${format.bytes(bytes)}`})
  }
  if (!loaded.has(href)) load(href)
  return h('img.thumbnail', {alt: title, src: loaded.get(href)})
}

async function load(address) {
  // Asked for once, however often it is drawn until it is there.
  loaded.set(address, null)
  const response = await send(address).catch(() => null)
  if (!response?.ok) {
    // The next change of the page tries again.
    loaded.delete(address)
    return
  }
  if (loaded.size > LIMIT) {
    const [oldest, made] = loaded.entries().next().value
    if (made) URL.revokeObjectURL(made)
    loaded.delete(oldest)
  }
  loaded.set(address, URL.createObjectURL(await response.blob()))
  redraw()
}
