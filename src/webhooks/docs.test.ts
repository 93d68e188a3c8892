import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { EVENT_TYPES, type EventTypeRow } from '#src/events/catalogue.ts'
import { payloadObject } from '#src/events/reported-event.ts'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { checkSection } from '#test/support/generated-docs.ts'

const PAGE = 'reference/events.md'
const EVENT = {
  id: '01980000-0000-7000-8000-000000000001',
  type: 'email.queued',
  createdAt: new Date(0),
  workspaceId: '01980000-0000-7000-8000-000000000002',
  messageId: null,
  recipient: null,
  sequence: null,
  message: null,
  data: null,
}

function listCode(names: readonly string[]): string {
  return names.map(code).join(', ')
}

describe('docs/reference/events.md', () => {
  it('lists the event types', () => {
    const types: readonly (readonly [string, EventTypeRow])[] = Object.entries(EVENT_TYPES)
    const rows = types.map(([type, { meaning, fields, sample }]) => [
      code(type),
      meaning,
      listCode(Object.keys(sample)),
      listCode(Object.keys(fields)),
    ])
    checkSection(PAGE, 'types', markdownTable(['Type', 'Meaning', 'Fields of `data`', 'Also at the top level'], rows))
  })
  it('has the fields that every event has', () => {
    const page = readFileSync(new URL(`../../docs/${PAGE}`, import.meta.url), 'utf8')
    const table = page.slice(page.indexOf('| Field |'), page.indexOf('## Event types'))
    const fields = [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) => cell.match(/[a-z_]+/g) ?? [])
    assert.deepEqual(fields, Object.keys(payloadObject(EVENT)))
  })
})
