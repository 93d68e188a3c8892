import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { BOUNCE_RULES } from '#src/suppression/bounce-rules.ts'
import { REPORT_RESULTS } from './report-evaluation.ts'

describe('docs/guides/bounces-and-complaints.md', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/guides/bounces-and-complaints.md'), 'utf8')
  const rowsBelow = (head: string): string[] =>
    /(?:^\|.*\n)*/m
      .exec(
        page
          .slice(page.indexOf(head) + head.length + 1)
          .split('\n')
          .slice(1)
          .join('\n'),
      )?.[0]
      .trimEnd()
      .split('\n') ?? []

  it('lists every result', () => {
    assert.deepEqual(
      rowsBelow('| Result | Means |'),
      Object.entries(REPORT_RESULTS).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`),
    )
  })
  it('lists every bounce rule', () => {
    const rows = Object.entries(BOUNCE_RULES).map(
      ([name, { proofs, meaning }]) => `| \`${name}\` | ${proofs} | ${meaning} |`,
    )
    assert.deepEqual(rowsBelow('| Class | Proofs | Means |'), rows)
  })
})
