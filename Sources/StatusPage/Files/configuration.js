// Configuration: what is in force, and what differs from the defaults.

import {get} from './api.js'
import {redraw} from './app.js'
import {h} from './dom.js'
import {card, empty, heading, table} from './parts.js'

const load = async () => get('/v1/configuration')

function render({sections}, _, memory) {
  const isShort = memory.isShort ?? false
  return [
    heading('Configuration', h('label', null, h('input', {
      type: 'checkbox', checked: isShort, onchange: event => { memory.isShort = event.target.checked; redraw() },
    }), ' Only what differs from the defaults')),
    h('p.intro', null, 'What is in force on this host. A new value takes effect by a reload, or by a restart where it says so.'),
    h('div.packed', null, sections.map(section => {
      const settings = section.settings.filter(setting => !isShort || setting.isChanged)
      return settings.length > 0 && card(`[${section.name}]`, {class: 'settings', 'data-key': section.name}, table(section.name, ['Key', 'Value', 'Takes effect'],
        settings.map(setting => ({key: setting.key, cells: [
          setting.key, h('span', {class: setting.isChanged ? 'changed' : null}, setting.value === '' ? h('span.none', null, 'none') : h('code', null, setting.value)),
          h('span', {class: setting.effect === 'reload' ? 'none' : null}, setting.effect),
        ]})), 'grid'))
    })),
    isShort && !sections.some(section => section.settings.some(setting => setting.isChanged)) && empty('Everything is as usual.'),
  ]
}

export default {load, render, wants: ['reset']}
