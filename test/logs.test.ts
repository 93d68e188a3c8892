/** docs/reference/logs.md names every message and every field of the log. */
import { assert } from 'chai'
import { code, markdownTable } from '#src/platform/markdown-table.ts'
import { findLogCalls } from './log-calls.ts'
import { documentedFields } from './log-fields.ts'
import { checkSection } from '#test/support/generated-docs.ts'

describe('the log', () => {
  const calls = findLogCalls()

  it('has its messages in docs/reference/logs.md', () => {
    const rows = new Map<string, string[]>()
    for (const { file, level, messages, fields } of calls)
      for (const message of messages) {
        const process = file.split('/')[0] ?? ''
        const role = ['api', 'mta', 'worker'].includes(process) ? process : 'any'
        rows.set(`${message} ${file}`, [message, level, role, fields.map(code).join(', ')])
      }
    const sorted = [...rows].toSorted(([a], [b]) => a.localeCompare(b, 'en')).map(([, row]) => row)
    assert.isAbove(sorted.length, 50)
    checkSection('reference/logs.md', 'messages', markdownTable(['Message', 'Level', 'Process', 'Fields'], sorted))
  })
  it('has its fields there, with their meanings', () => {
    const used = new Set(calls.flatMap(({ fields }) => fields))
    const missing = [...used].filter((field) => !(field in documentedFields))
    assert.deepEqual(missing, [], 'describe them in test/log-fields.ts')
    const rows = Object.entries(documentedFields).map(([field, meaning]) => [code(field), meaning])
    checkSection('reference/logs.md', 'fields', markdownTable(['Field', 'Meaning'], rows))
  })
})
